"""An event stream in the forms that other programs take: messages without types, and CloudEvents."""
from world import must


def begun(world):
    """A session with three events, and what a plain page says of them."""
    admin = world.server().admin()
    session = admin.ok("POST", "/api/sessions", {"cwd": "/p"})
    admin.ok("POST", f"/api/threads/{session['threadId']}/tool-calls", {"id": "c1", "name": "Bash", "input": {"command": "a\nb"}})
    return admin, session["id"], admin.events(session=session["id"])


def test_every_event_is_a_message_for_who_wants_no_types(world):
    admin, session, events = begun(world)
    follower = world.follow(admin, f"?after=0&session={session}&format=message")
    follower.wait(lambda: len(follower.events) == len(events), "all events")
    must([(e["seq"], None, e) for e in events] == follower.events, f"{follower.events}")
    named = world.follow(admin, f"?after=0&session={session}&format=named")
    named.wait(lambda: len(named.events) == len(events), "all events")
    must([e[1] for e in named.events] == [e["type"] for e in events], f"{named.events}")


def test_events_as_cloudevents(world):
    admin, session, events = begun(world)
    follower = world.follow(admin, f"?after=0&session={session}&format=cloudevents")
    admin.decided(session, "c1", "deny")
    events = admin.events(session=session)
    follower.wait(lambda: len(follower.events) == len(events), "all events, also one that came meanwhile")
    for (number, kind, cloud), event in zip(follower.events, events):
        wanted = {"specversion": "1.0", "id": str(event["seq"]), "source": f"/nod/sessions/{session}", "time": event["at"],
                  "type": f"nod.{event['type'].lower().replace('_', '.')}.v1", "datacontenttype": "application/json", "data": event["data"]}
        must(kind is None and number == event["seq"] and wanted.items() <= cloud.items(), f"{cloud} is not {wanted}")
    must([c["subject"] for _, _, c in follower.events[1:]] == ["c1"] * (len(events) - 1), "an event does not name its call")
    again = world.follow(admin, f"?session={session}&format=cloudevents", {"Last-Event-ID": str(events[1]["seq"])})
    again.wait(lambda: len(again.events) == len(events) - 2, "what came after")


def asked(client, path):
    answer = client.get(path)
    return answer.status, answer.json


def test_forms_that_are_none(world):
    admin, session, _ = begun(world)
    status, answer = asked(admin, f"/api/events?session={session}&format=cloudevents")
    must(status == 400 and "for streams" in answer["error"]["message"], f"{status} {answer}")
    status, answer = asked(admin, f"/api/events?session={session}&format=xml")
    must(status == 400 and "named, message or cloudevents" in answer["error"]["message"], f"{status} {answer}")
