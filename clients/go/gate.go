package nod

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"sync"
	"time"
)

const (
	waitSeconds   = 50               // one request waits this long for a person; then the same again
	slack         = 20 * time.Second // an answer that is this late does not come any more
	pauseFirst    = 200 * time.Millisecond
	pauseMost     = 5 * time.Second
	retryMost     = time.Minute
	cancelLimit   = 3 * time.Second
	reportLimit   = 30 * time.Second
	patienceFirst = 10 * time.Second
)

// Input is the input of a tool, a JSON object.
type Input map[string]any

// Call is what an agent wants to do. With an ID of your own the same call is asked only once, also across processes.
type Call struct {
	ID    string
	Name  string
	Input Input
}

// Verdict is the outcome of a call. Input is what is to run: a person may have edited it.
type Verdict struct {
	ID, Name, Status, Decision, Words, Actor string
	Input                                    Input
}

// Options of a gate; all may be empty.
type Options struct {
	URL      string        // http://HOST:PORT, https://HOST or unix:/PATH; else NOD_URL, else the socket in the data folder
	Token    string        // else NOD_TOKEN
	Title    string        // of the session, for the people who answer
	Cwd      string        // else the working directory
	Agent    string        // else "nod-gate"
	Session  string        // names the conversation: the same name and token are the same session in every process
	Patience time.Duration // how long a server that was never seen may stay silent; 0: ten seconds, negative: for ever
	Log      *log.Logger   // else the standard one
}

// Gate asks the server before a tool runs. It may be used by several goroutines.
type Gate struct {
	wire    *wire
	options Options

	mutex           sync.Mutex
	session, thread string
	seen            bool
}

func random() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes)
}

// New makes a gate; it does not talk to the server yet.
func New(options Options) (*Gate, error) {
	w, err := newWire(options.URL, options.Token)
	if err != nil {
		return nil, err
	}
	if options.Cwd == "" {
		if options.Cwd, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	options.Agent = orElse(options.Agent, "nod-gate")
	options.Title = orElse(options.Title, options.Agent)
	options.Session = orElse(options.Session, random())
	if options.Patience == 0 {
		options.Patience = patienceFirst
	}
	if options.Log == nil {
		options.Log = log.Default()
	}
	return &Gate{wire: w, options: options}, nil
}

func again(status int) bool {
	switch status {
	case 408, 425, 429, 500, 502, 503, 504:
		return true
	}
	return false
}

func wordsOf(got *reply) (code, message string) {
	var value struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(got.body, &value) != nil || value.Error.Code == "" {
		return "", fmt.Sprintf("%.200s", got.body)
	}
	return value.Error.Code, value.Error.Message
}

func refused(got *reply) error {
	code, message := wordsOf(got)
	if got.status == 401 {
		message += "; NOD_TOKEN must hold a token of this server: `nod token create --role agent --name NAME`"
	}
	return &Refused{Status: got.status, Code: code, Message: message}
}

func (g *Gate) firstContact() (limited bool, until time.Time) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return !g.seen && g.options.Patience > 0, time.Now().Add(g.options.Patience)
}

func (g *Gate) see() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.seen = true
}

// exchange gives a reply that says something, however often it takes, until the context ends.
func (g *Gate) exchange(ctx context.Context, method, target string, value any, wait int) (*reply, error) {
	var body []byte
	if value != nil {
		var err error
		if body, err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	limited, until := g.firstContact()
	for pause, told := pauseFirst, false; ; told = true {
		got, err := g.wire.send(ctx, method, target, body, time.Duration(wait)*time.Second+slack)
		why, rest := "", time.Duration(-1)
		if err == nil {
			g.see()
			limited = false
			if !again(got.status) {
				return got, nil
			}
			_, message := wordsOf(got)
			why, rest = fmt.Sprintf("%d %s", got.status, message), got.retryAfter
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		} else {
			why = err.Error()
		}
		if rest < 0 {
			rest, pause = pause, shorter(pause*2, pauseMost)
		}
		if limited && time.Now().Add(rest).After(until) {
			return nil, fmt.Errorf("%w at %s (%s). Nothing was run. Start it with `nod serve`, or set NOD_URL", ErrNoServer, g.wire.address, why)
		}
		if !told {
			g.options.Log.Printf("no answer from Nod at %s (%s): trying again; `nod serve` starts it", g.wire.address, why)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(shorter(rest, retryMost)):
		}
	}
}

func shorter(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

// open makes the session, or finds it again by its name.
func (g *Gate) open(ctx context.Context) (session, thread string, err error) {
	g.mutex.Lock()
	session, thread = g.session, g.thread
	g.mutex.Unlock()
	if thread != "" {
		return session, thread, nil
	}
	body := map[string]any{"title": g.options.Title, "cwd": g.options.Cwd, "agent": g.options.Agent, "agentSession": g.options.Session}
	got, err := g.exchange(ctx, "POST", "/api/sessions", body, 0)
	if err != nil {
		return "", "", err
	}
	if got.status != 200 && got.status != 201 {
		return "", "", refused(got)
	}
	var made struct{ ID, ThreadID string }
	if json.Unmarshal(got.body, &made) != nil || made.ID == "" || made.ThreadID == "" {
		return "", "", &Refused{Status: got.status, Message: "the server's answer names no session"}
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.session, g.thread = made.ID, made.ThreadID
	return g.session, g.thread, nil
}

func (g *Gate) forget() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.session, g.thread = "", ""
}

// readVerdict is strict: an answer to something else, or without an input, is no answer.
func readVerdict(got *reply, call Call) (*Verdict, error) {
	var value struct {
		ToolCallID, Status, Decision, Feedback, Reason string
		Input                                          Input
		DecidedBy                                      struct{ Kind, Actor, Rule string }
	}
	if err := json.Unmarshal(got.body, &value); err != nil || value.ToolCallID != call.ID || value.Input == nil {
		return nil, &Refused{Status: got.status, Message: "the server's answer is not about this call"}
	}
	by := value.DecidedBy
	return &Verdict{ID: call.ID, Name: call.Name, Status: value.Status, Decision: value.Decision, Input: value.Input,
		Words: orElse(value.Feedback, value.Reason, by.Rule, "the call is "+value.Status), Actor: orElse(by.Actor, by.Kind)}, nil
}

// Ask returns when the call is allowed: run Verdict.Input, then Report. It fails in every other case. When the context
// ends it takes the call back and returns the context's error.
func (g *Gate) Ask(ctx context.Context, call Call) (*Verdict, error) {
	call.ID = orElse(call.ID, "call_"+random())
	if call.Input == nil {
		call.Input = Input{}
	}
	verdict, err := g.ask(ctx, call)
	if err != nil && ctx.Err() != nil {
		_ = g.Cancel(call.ID)
	}
	return verdict, err
}

func (g *Gate) ask(ctx context.Context, call Call) (*Verdict, error) {
	body := map[string]any{"id": call.ID, "name": call.Name, "input": call.Input, "cwd": g.options.Cwd}
	for lost := 0; ; {
		_, thread, err := g.open(ctx)
		if err != nil {
			return nil, err
		}
		target := fmt.Sprintf("/api/threads/%s/tool-calls?wait=%d", url.PathEscape(thread), waitSeconds)
		got, err := g.exchange(ctx, "POST", target, body, waitSeconds)
		if err != nil {
			return nil, err
		}
		if got.status == 404 && lost < 3 { // a server with another store: begin there
			g.forget()
			lost++
			continue
		}
		if got.status != 200 {
			return nil, refused(got)
		}
		verdict, err := readVerdict(got, call)
		if err != nil {
			return nil, err
		}
		switch verdict.Status {
		case "allowed":
			return verdict, nil
		case "awaiting":
			continue
		}
		refusal := &NotAllowed{Verdict: *verdict, Words: verdict.Words, reason: reasonOf(verdict.Status)}
		if verdict.Status == "finished" {
			refusal.Result = g.resultOf(ctx, call.ID)
		}
		return nil, refusal
	}
}

func (g *Gate) callPath(ctx context.Context, id, what string) (string, error) {
	session, _, err := g.open(ctx)
	return fmt.Sprintf("/api/tool-calls/%s%s?session=%s", url.PathEscape(id), what, url.QueryEscape(session)), err
}

func (g *Gate) resultOf(ctx context.Context, id string) any {
	var value struct{ Result struct{ Content any } }
	target, err := g.callPath(ctx, id, "")
	if err != nil {
		return nil
	}
	if got, err := g.exchange(ctx, "GET", target, nil, 0); err == nil && got.status == 200 {
		_ = json.Unmarshal(got.body, &value)
	}
	return value.Result.Content
}

// Cancel takes back a call that waits for an answer. A 404 may be an ask that is still on its way, so it is tried for a while.
func (g *Gate) Cancel(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), cancelLimit)
	defer cancel()
	target, err := g.callPath(ctx, id, "/cancel")
	for err == nil {
		var got *reply
		if got, err = g.exchange(ctx, "POST", target, Input{}, 0); err != nil {
			break
		}
		if got.status == 200 {
			return nil
		}
		if got.status != 404 {
			return refused(got)
		}
		select {
		case <-ctx.Done():
			return refused(got)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return err
}

// Report says what came of an allowed call. The tool has run, so an error here is no reason to run it again.
func (g *Gate) Report(ctx context.Context, id string, content any, isError bool) error {
	ctx, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	target, err := g.callPath(ctx, id, "/result")
	if err != nil {
		return err
	}
	got, err := g.exchange(ctx, "POST", target, map[string]any{"content": content, "isError": isError}, 0)
	if err == nil && got.status == 413 {
		words := "(the result is too large to be kept)"
		got, err = g.exchange(ctx, "POST", target, map[string]any{"content": words, "isError": isError}, 0)
	}
	if err == nil && got.status != 200 {
		err = refused(got)
	}
	return err
}

// Run asks, runs the function with the input that was allowed, and reports what it returns.
func (g *Gate) Run(ctx context.Context, call Call, run func(context.Context, Input) (any, error)) (any, error) {
	verdict, err := g.Ask(ctx, call)
	if err != nil {
		return nil, err
	}
	result, err := run(ctx, verdict.Input)
	content := result
	if err != nil {
		content = err.Error()
	}
	if failed := g.Report(context.Background(), verdict.ID, content, err != nil); failed != nil {
		g.options.Log.Printf("the result of %s was not kept: %v", verdict.ID, failed)
	}
	return result, err
}

// IsNotAllowed says whether the error is a verdict, and gives it.
func IsNotAllowed(err error) (*NotAllowed, bool) {
	var refusal *NotAllowed
	ok := errors.As(err, &refusal)
	return refusal, ok
}
