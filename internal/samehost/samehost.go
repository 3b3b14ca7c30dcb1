// Package samehost keeps an HTTP client to the server that it was told to ask: what another
// one says would be taken for its word, and a token would go there. It must not know what is asked.
package samehost

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// most redirects are followed, as by net/http.
const most = 10

// Client returns one that gives up after timeout, and follows no redirect to another server.
func Client(timeout time.Duration) http.Client {
	return http.Client{Timeout: timeout, CheckRedirect: check}
}

// check refuses redirects to another host or port, and from https to http. From http to https
// the port may change.
func check(next *http.Request, via []*http.Request) error {
	from, to := via[0].URL, next.URL
	same := from.Scheme == to.Scheme && from.Host == to.Host
	safer := from.Scheme == "http" && to.Scheme == "https" && from.Hostname() == to.Hostname()
	switch {
	case !same && !safer:
		return fmt.Errorf("found a redirect to %s://%s, expected an answer of %s://%s: if that is the server, name it by this address", to.Scheme, to.Host, from.Scheme, from.Host)
	case len(via) >= most:
		return errors.New("more than 10 redirects")
	}
	return nil
}
