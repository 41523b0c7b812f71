package nod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

var quiet = log.New(io.Discard, "", 0)

type answer func(w http.ResponseWriter, sent map[string]any)

func plain(status int, body string, headers ...string) answer {
	return func(w http.ResponseWriter, _ map[string]any) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func failure(status int, headers ...string) answer {
	return plain(status, `{"error":{"code":"code","message":"words"}}`, headers...)
}

func judged(status string) answer {
	return func(w http.ResponseWriter, sent map[string]any) {
		body, _ := json.Marshal(map[string]any{"toolCallId": sent["id"], "status": status, "input": sent["input"], "decision": nil, "decidedBy": nil})
		plain(200, string(body))(w, sent)
	}
}

func hangUp(w http.ResponseWriter, _ map[string]any) { panic(http.ErrAbortHandler) }

func cutOff(w http.ResponseWriter, sent map[string]any) {
	w.Header().Set("Content-Length", "5000")
	judged("allowed")(dropLength{w}, sent)
	panic(http.ErrAbortHandler)
}

type dropLength struct{ http.ResponseWriter }

func (d dropLength) WriteHeader(status int) {
	d.Header().Set("Content-Length", "5000")
	d.ResponseWriter.WriteHeader(status)
}

var session = plain(201, `{"id":"s","threadId":"s.main"}`)

type script struct {
	mutex   sync.Mutex
	answers []answer
	bodies  []map[string]any
}

func (s *script) gate(t *testing.T) *Gate {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.mutex.Lock()
		s.bodies = append(s.bodies, body)
		next := s.answers[len(s.bodies)-1]
		s.mutex.Unlock()
		next(w, body)
	}))
	t.Cleanup(server.Close)
	gate, err := New(Options{URL: server.URL, Token: "t", Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return gate
}

func TestBusyAndBrokenAnswersAreAskedAgainWithTheSameID(t *testing.T) {
	s := &script{answers: []answer{failure(503), session, failure(408), failure(429, "Retry-After", "1"), hangUp, cutOff,
		failure(502), judged("awaiting"), judged("allowed")}}
	if _, err := s.gate(t).Ask(context.Background(), Call{Name: "Deploy", Input: Input{"v": 1}}); err != nil {
		t.Fatal(err)
	}
	if len(s.bodies) != len(s.answers) {
		t.Fatalf("%d requests, not %d", len(s.bodies), len(s.answers))
	}
	for _, body := range s.bodies[2:] {
		if body["id"] != s.bodies[2]["id"] {
			t.Fatalf("another id: %v", s.bodies)
		}
	}
}

func TestAnAnswerThatIsNotUnderstoodAllowsNothing(t *testing.T) {
	noInput := func(w http.ResponseWriter, sent map[string]any) {
		plain(200, fmt.Sprintf(`{"toolCallId":%q,"status":"allowed","input":null}`, sent["id"]))(w, sent)
	}
	for _, wrong := range []answer{plain(200, "<html>"), plain(200, "[]"), plain(200, `{"status":"allowed"}`), plain(204, ""),
		plain(200, `{"status":"allowed","toolCallId":"another","input":{}}`), plain(302, "", "Location", "/"), noInput,
		judged("started"), judged("new_word"), failure(403), failure(413)} {
		s := &script{answers: []answer{session, wrong}}
		if verdict, err := s.gate(t).Ask(context.Background(), Call{Name: "Deploy"}); err == nil {
			t.Fatalf("allowed: %v", verdict)
		}
	}
}

func TestALostSessionIsMadeAgain(t *testing.T) {
	s := &script{answers: []answer{session, failure(404), session, judged("allowed")}}
	if _, err := s.gate(t).Ask(context.Background(), Call{Name: "Deploy"}); err != nil {
		t.Fatal(err)
	}
	if s.bodies[0]["agentSession"] != s.bodies[2]["agentSession"] {
		t.Fatal("another session")
	}
}

func TestNoServerSaysHowToStartIt(t *testing.T) {
	for _, url := range []string{"unix:/nowhere/nod.sock", "http://127.0.0.1:9"} {
		gate, err := New(Options{URL: url, Token: "t", Patience: 300 * time.Millisecond, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		_, err = gate.Ask(context.Background(), Call{Name: "Deploy"})
		if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "nod serve") {
			t.Fatal(err)
		}
	}
}

// The tests below talk to a real server.
func serverGate(t *testing.T, options Options) *Gate {
	if os.Getenv("NOD_URL") == "" || os.Getenv("NOD_TOKEN") == "" {
		t.Skip("NOD_URL and NOD_TOKEN name no server")
	}
	options.Log = quiet
	gate, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return gate
}

func TestAWrongTokenIsRefused(t *testing.T) {
	var refusal *Refused
	if _, err := serverGate(t, Options{Token: "wrong"}).Ask(context.Background(), Call{Name: "Deploy"}); !errors.As(err, &refusal) || refusal.Status != 401 {
		t.Fatal(err)
	}
}

// waitFor returns when the server has the question.
func waitFor(call string) {
	for look := 0; look < 600; look++ {
		request, err := http.NewRequest("GET", os.Getenv("NOD_URL")+"/api/tool-calls/"+call, nil)
		if err != nil {
			return
		}
		request.Header.Set("Authorization", "Bearer "+os.Getenv("NOD_TOKEN"))
		if response, err := http.DefaultClient.Do(request); err == nil {
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode == 200 && strings.Contains(string(body), `"status":"awaiting"`) {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestAnEndedContextTakesTheCallBack(t *testing.T) {
	gate := serverGate(t, Options{Session: "ended"})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	call := Call{ID: "ended-1", Name: "Deploy", Input: Input{"v": "ended"}}
	go func() {
		waitFor(call.ID)
		cancel()
	}()
	if _, err := gate.Ask(ctx, call); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := serverGate(t, Options{Session: "ended"}).Ask(context.Background(), call); !errors.Is(err, ErrCancelled) {
		t.Fatal(err)
	}
	var refusal *Refused
	call.Input = Input{"v": "other"}
	if _, err := gate.Ask(context.Background(), call); !errors.As(err, &refusal) || refusal.Code != "call_differs" {
		t.Fatal(err)
	}
}

func TestTheWordsOfARuleArrive(t *testing.T) {
	_, err := serverGate(t, Options{}).Ask(context.Background(), Call{Name: "Forbidden"})
	if refusal, ok := IsNotAllowed(err); !ok || !errors.Is(err, ErrDenied) || !strings.Contains(refusal.Words, "never here") {
		t.Fatal(err)
	}
}
