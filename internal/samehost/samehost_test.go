package samehost

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRedirects: those within a server are followed, others are refused and the other server is
// not asked.
func TestRedirects(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/within":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/other":
			http.Redirect(w, r, other.URL+"/metrics", http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		}
	}))
	defer server.Close()
	client := Client(10 * time.Second)
	get := func(path string) error {
		answer, err := client.Get(server.URL + path)
		if err == nil {
			require.NoError(t, answer.Body.Close())
		}
		return err
	}
	require.NoError(t, get("/within"))
	require.ErrorContains(t, get("/other"), "found a redirect to "+other.URL)
	require.ErrorContains(t, get("/round"), "more than 10 redirects")
	require.Zero(t, asked)
}

// TestSchemes: to https on the same host is followed, back to http is not.
func TestSchemes(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"http://a/x", "https://a/x", true},
		{"http://a:9090/x", "https://a/x", true},
		{"https://a/x", "http://a/x", false},
		{"http://a:9090/x", "http://a:9091/x", false},
		{"http://a/x", "https://b/x", false},
	} {
		from, err := http.NewRequest(http.MethodGet, c.from, nil)
		require.NoError(t, err)
		to, err := http.NewRequest(http.MethodGet, c.to, nil)
		require.NoError(t, err)
		require.Equal(t, c.ok, check(to, []*http.Request{from}) == nil, "%s to %s", c.from, c.to)
	}
}
