// Four mails, each asked for. Start `nod serve`, set NOD_TOKEN, answer on the page.
import { Gate, NotAllowed } from "nod-gate";

const gate = new Gate({ title: "mails" });
const sendMail = gate.wrap("send_mail", ({ to, text }) => {
  console.log("SENT", text);
  return `sent to ${to}`;
});

for (const word of ["one", "two", "three", "four"]) {
  try {
    console.log("HEARD", await sendMail({ to: "ann@example.org", text: `mail ${word}` }));
  } catch (error) {
    if (!(error instanceof NotAllowed)) throw error;
    console.log("HEARD", error.words);
  }
}
