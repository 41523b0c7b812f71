"""A cursor names the place that `next` names: in pages of events, sessions and calls that wait, in the audit, in streams."""
from world import must


def pages(admin, path, key, name):
    """What a list has, read page by page with the query parameter of this name."""
    found, query = [], ""
    while True:
        page = admin.ok("GET", path + query)
        found += [item.get("seq") or item.get("toolCallId") or item["id"] for item in page[key]]
        must(("cursor" in page) == ("next" in page), page)
        if not page[key] or "next" not in page:
            return found
        query = f"&{name}={page['cursor' if name == 'cursor' else 'next']}"


def test_a_cursor_reads_on_as_the_number_does(world):
    admin = world.server().admin()
    made = admin.session()
    for n in range(7):
        admin.session(title=f"number {n}")
        admin.call(made["threadId"], "Bash", {"command": "make"}, id=f"c{n}")
    for path, key, number in (("/api/events?limit=3", "events", "after"), ("/api/sessions?limit=3", "sessions", "before"),
                              ("/api/audit?limit=2", "records", "before")):
        by_number, by_cursor = pages(admin, path, key, number), pages(admin, path, key, "cursor")
        must(by_number == by_cursor and len(by_number) >= 7, f"{path}: {by_number} {by_cursor}")
    page, calls = admin.ok("GET", "/api/approvals/pending?limit=2&after=0"), []  # all, in the order of asking
    while "next" in page:
        calls += [call["toolCallId"] for call in page["pendingApprovals"]]
        page, by_number = (admin.ok("GET", f"/api/approvals/pending?limit=2&{place}")
                           for place in (f"cursor={page['cursor']}", f"after={page['next']}"))
        must(page == by_number, f"{page} {by_number}")
    must(calls + [call["toolCallId"] for call in page["pendingApprovals"]] == [f"c{n}" for n in range(7)], calls)


def test_a_stream_begins_behind_a_cursor(world):
    admin = world.server().admin()
    made = admin.session()
    admin.call(made["threadId"], "Bash", {"command": "make"}, id="c1")
    page = admin.ok("GET", "/api/events?limit=1")
    last = admin.events()[-1]["seq"]
    stream = world.follow(admin, f"?cursor={page['cursor']}")
    stream.wait(lambda: stream.ids()[-1:] == [last], "the events behind it")
    must(stream.ids() == list(range(page["next"] + 1, last + 1)), stream.ids())


def test_what_is_no_cursor_is_refused(world):
    admin = world.server().admin()
    cursor = admin.ok("GET", "/api/events?limit=1")["cursor"]
    for query in ("cursor=", "cursor=5", "cursor=s1.", "cursor=s1.x", "cursor=s2.5", "cursor=s1.99999999999999999999", f"cursor={cursor}&after=1"):
        reply = admin.get(f"/api/events?{query}")
        must(reply.status == 400 and reply.json["error"]["code"] == "invalid", f"{query}: {reply}")
