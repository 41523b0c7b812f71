package nod

import (
	"errors"
	"fmt"
)

// The reasons for which a call is not to run; each NotAllowed is one of them.
var (
	ErrDenied     = errors.New("denied")
	ErrAborted    = errors.New("aborted")
	ErrTimedOut   = errors.New("timed out")
	ErrCancelled  = errors.New("cancelled")
	ErrAlreadyRan = errors.New("already ran")
)

// ErrNoServer: no server answers at the address. ErrNoToken: there is no token of an agent to ask with.
var (
	ErrNoServer = errors.New("no Nod server answers")
	ErrNoToken  = errors.New("no token to ask with")
)

// NotAllowed is a call that was judged. Words are for the model or the person who reads the log.
type NotAllowed struct {
	Verdict Verdict
	Words   string
	Result  any // of a call that ran before
	reason  error
}

func (e *NotAllowed) Error() string { return fmt.Sprintf("%v: %s", e.reason, e.Words) }
func (e *NotAllowed) Unwrap() error { return e.reason }

// Refused is a request that the server does not take; the same again is refused again.
type Refused struct {
	Status  int
	Code    string // "call_differs": the id is known, with another tool or input
	Message string
}

func (e *Refused) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

func reasonOf(status string) error {
	switch status {
	case "aborted":
		return ErrAborted
	case "timed_out":
		return ErrTimedOut
	case "cancelled":
		return ErrCancelled
	case "finished":
		return ErrAlreadyRan
	}
	return ErrDenied // also for a status that this package does not know
}
