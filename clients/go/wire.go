package nod

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const bodyMost = 16 << 20

type wire struct {
	address, base, token string
	client               *http.Client
}

type reply struct {
	status     int
	body       []byte
	retryAfter time.Duration // negative: not said
}

func orElse(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// The administrator's token in the data folder is never taken: whoever holds it can approve its own calls.
func newWire(address, token string) (*wire, error) {
	token = orElse(token, os.Getenv("NOD_TOKEN"))
	if token == "" {
		return nil, fmt.Errorf("%w: set NOD_TOKEN to one that `nod token create --role agent --name NAME` prints", ErrNoToken)
	}
	home, _ := os.UserHomeDir()
	data := orElse(os.Getenv("NOD_DATA"), filepath.Join(orElse(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local/share")), "nod"))
	address = orElse(address, os.Getenv("NOD_URL"), "unix:"+filepath.Join(data, "nod.sock"))
	transport := &http.Transport{DisableKeepAlives: true, Proxy: nil}
	w := &wire{address: address, base: strings.TrimSuffix(address, "/"), token: token}
	if path := strings.TrimPrefix(address, "unix:"); path != address {
		w.base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
	} else if parsed, err := url.Parse(address); err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return nil, fmt.Errorf("the address of the server is http://HOST:PORT, https://HOST or unix:/PATH, not %q", address)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	w.client = &http.Client{Transport: transport, CheckRedirect: stay}
	return w, nil
}

func (w *wire) send(ctx context.Context, method, target string, body []byte, limit time.Duration) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, w.base+target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+w.token)
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := w.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.ContentLength < 0 && len(response.TransferEncoding) == 0 {
		return nil, fmt.Errorf("an answer that does not say where it ends")
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, bodyMost+1))
	if err != nil {
		return nil, err
	}
	if len(text) > bodyMost {
		return nil, fmt.Errorf("an answer without end")
	}
	got := &reply{status: response.StatusCode, body: text, retryAfter: -1}
	if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16); err == nil {
		got.retryAfter = time.Duration(seconds) * time.Second
	}
	return got, nil
}
