// A collector's own reader of OTLP over HTTP in JSON. Prints its address, then a line for each span and log record.
// The first two requests are answered with 503: whoever sends must try again.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

var (
	lock sync.Mutex
	busy = 2
)

func say(value map[string]any) {
	line, _ := json.Marshal(value)
	fmt.Println(string(line))
}

func spans(body []byte) error {
	request := ptraceotlp.NewExportRequest()
	if err := request.UnmarshalJSON(body); err != nil {
		return err
	}
	for _, resource := range request.Traces().ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				say(map[string]any{"span": span.Name(), "trace": span.TraceID().String(), "id": span.SpanID().String(), "parent": span.ParentSpanID().String(),
					"took": span.EndTimestamp().AsTime().Sub(span.StartTimestamp().AsTime()).Milliseconds(), "status": span.Status().Code().String(),
					"service": resource.Resource().Attributes().AsRaw()["service.name"], "attributes": span.Attributes().AsRaw()})
			}
		}
	}
	return nil
}

func records(body []byte) error {
	request := plogotlp.NewExportRequest()
	if err := request.UnmarshalJSON(body); err != nil {
		return err
	}
	for _, resource := range request.Logs().ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				say(map[string]any{"event": record.EventName(), "trace": record.TraceID().String(), "id": record.SpanID().String(), "attributes": record.Attributes().AsRaw()})
			}
		}
	}
	return nil
}

func take(read func([]byte) error) http.HandlerFunc {
	return func(answer http.ResponseWriter, request *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		body, err := io.ReadAll(request.Body)
		if busy--; busy >= 0 {
			answer.WriteHeader(503)
			return
		}
		if err == nil {
			err = read(body)
		}
		if err != nil || request.Header.Get("X-Key") != "s3cret" {
			say(map[string]any{"bad": fmt.Sprint(err)})
			answer.WriteHeader(400)
			return
		}
		answer.Header().Set("Content-Type", "application/json")
		_, _ = answer.Write([]byte("{}"))
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	http.Handle("/v1/traces", take(spans))
	http.Handle("/v1/logs", take(records))
	panic(http.Serve(listener, nil))
}
