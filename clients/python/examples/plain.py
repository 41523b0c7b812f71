"""Four mails, each asked for. Start `nod serve`, set NOD_TOKEN, answer on the page."""
from nod_gate import Gate, NotAllowed

gate = Gate(title="mails")


@gate
def send_mail(to: str, text: str) -> str:
    print("SENT", text, flush=True)
    return f"sent to {to}"


for word in ("one", "two", "three", "four"):
    try:
        print("HEARD", send_mail("ann@example.org", text=f"mail {word}"), flush=True)
    except NotAllowed as refusal:
        print("HEARD", refusal.words, flush=True)
