// Four mails, each asked for. Start `nod serve`, set NOD_TOKEN, answer on the page.
package main

import (
	"context"
	"fmt"
	"log"

	nod "nod.example/clients/go"
)

func sendMail(_ context.Context, in nod.Input) (any, error) {
	fmt.Println("SENT", in["text"])
	return fmt.Sprintf("sent to %v", in["to"]), nil
}

func main() {
	gate, err := nod.New(nod.Options{Title: "mails"})
	if err != nil {
		log.Fatal(err)
	}
	for _, word := range []string{"one", "two", "three", "four"} {
		call := nod.Call{Name: "send_mail", Input: nod.Input{"to": "ann@example.org", "text": "mail " + word}}
		result, err := gate.Run(context.Background(), call, sendMail)
		if refusal, ok := nod.IsNotAllowed(err); ok {
			fmt.Println("HEARD", refusal.Words)
		} else if err != nil {
			log.Fatal(err)
		} else {
			fmt.Println("HEARD", result)
		}
	}
}
