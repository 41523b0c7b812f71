// Package nod asks Nod before a tool runs: a rule or a person allows the call, edits it, or denies it with words.
//
//	gate, err := nod.New(nod.Options{Title: "release"})
//	verdict, err := gate.Ask(ctx, nod.Call{Name: "Bash", Input: nod.Input{"command": "make"}})
//	if err != nil {
//		return err // errors.Is(err, nod.ErrDenied), errors.As(err, &notAllowed)
//	}
//	out := run(verdict.Input)
//	gate.Report(ctx, verdict.ID, out, false)
//
// The tool may run only when err is nil. The id is made before the question is sent, and the same question is sent
// again after a lost connection, a restart of the server, 408, 429, 5xx, or when nobody has answered yet: until the
// context ends, which takes the question back.
package nod
