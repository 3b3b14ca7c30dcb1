// Package history asks a Prometheus server for what it has kept of GPUs and nodes in a past time: what DCGM-exporter and
// node-exporter told it becomes rows of telemetry, with a record of each gap. It must not know files.
//
// The API is documented at https://prometheus.io/docs/prometheus/latest/querying/api/.
package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"orrery/capture/recorded"
	"orrery/internal/samehost"
	"orrery/scheduler/model"
	"orrery/traces"
)

// DefaultSelect are the metrics that rows of telemetry have columns for.
const DefaultSelect = `{__name__=~"DCGM_FI_(DEV|PROF)_.*|node_hwmon_power_average_watt"}`

// Query is what is asked. Instants are µs since 1970.
type Query struct {
	URL      string         // of the server, http://host:9090
	Token    string         // a bearer token, "" for none
	Select   string         // a selector of series
	From, To model.Time     // To is not part of it
	Step     model.Duration // between rows; 0 for every sample as it was scraped
	Label    string         // that names the node; "" as in recorded.Options
	Node     string         // name of the node, where there is one only and no label has it
	Timeout  time.Duration  // of a request
	MaxBody  int64          // B of an answer; a larger one is asked for in smaller pieces
}

// Pieces of the time that is asked for at once.
const (
	firstPiece    = model.Hour
	largestPiece  = model.Day
	smallestPiece = model.Minute
	mostPoints    = 10_000 // in a piece with a step; Prometheus refuses more than 11,000
	small         = 1 << 20
)

// Validate says what is wrong, all at once.
func (q *Query) Validate() error {
	var wrong []error
	if u, err := url.Parse(q.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		wrong = append(wrong, fmt.Errorf("address %q of Prometheus: want one like http://HOST:9090", q.URL))
	}
	if q.To <= q.From {
		wrong = append(wrong, errors.New("the time that is asked for ends before it begins"))
	}
	if q.Step != 0 && (q.Step < model.Second || q.Step > model.Hour) {
		wrong = append(wrong, fmt.Errorf("step %s: want 1s to 1h, or 0 for every sample", time.Duration(q.Step)*time.Microsecond))
	}
	if q.Select == "" {
		wrong = append(wrong, errors.New("no series are selected"))
	}
	return errors.Join(wrong...)
}

// errLarge says that a piece has too much for one answer.
var errLarge = errors.New("more than one answer can hold")

// Rows asks for the time piece by piece and hands the rows over, ascending by time. It is done when ctx ends, or with the first error.
func (q *Query) Rows(ctx context.Context, found *Found, row func(*traces.Telemetry) error) error {
	client := samehost.Client(q.Timeout)
	piece := firstPiece
	if q.Step > 0 {
		piece = max(min(piece, q.Step*mostPoints), q.Step)
	}
	for from := q.From; from < q.To; {
		to := min(from.Add(q.whole(piece)), q.To)
		text, err := q.request(ctx, &client, from, to)
		found.Requests++
		if errors.Is(err, errLarge) && piece > max(smallestPiece, q.Step) {
			piece = max(piece/2, smallestPiece, q.Step)
			continue
		}
		if err != nil {
			return err
		}
		rows, err := recorded.Prometheus(text, recorded.Options{Node: q.Node, Label: q.Label, Model: found.model, Account: &found.Account})
		if err != nil {
			return fmt.Errorf("the answer of %s: %w", host(q.URL), err)
		}
		for i := range rows {
			t := &rows[i]
			if t.Time < from || t.Time >= to {
				continue // at both ends there may be one of the neighbour
			}
			if t.Node == "" {
				return errors.New("the series do not name a node: name the label that does, or the node")
			}
			found.row(t)
			if err := row(t); err != nil {
				return err
			}
		}
		if from = to; int64(len(text)) < min(small, q.MaxBody/4) {
			piece = min(piece*2, largestPiece)
			if q.Step > 0 {
				piece = min(piece, q.Step*mostPoints)
			}
		}
	}
	found.end(q)
	return nil
}

// whole is a piece that is so many steps.
func (q *Query) whole(piece model.Duration) model.Duration {
	if q.Step == 0 {
		return piece
	}
	return max(piece/q.Step, 1) * q.Step
}

// request asks once for [from, to). The beginning of a range belongs to it in some versions of Prometheus, and in others not: what
// comes of before from is left out by Rows.
func (q *Query) request(ctx context.Context, client *http.Client, from, to model.Time) (text []byte, err error) {
	form, path := url.Values{}, "/api/v1/query"
	if q.Step > 0 {
		path = "/api/v1/query_range"
		form.Set("query", q.Select)
		form.Set("start", seconds(from))
		form.Set("end", seconds(to-1000)) // ms are what the server counts in
		form.Set("step", seconds(model.Time(q.Step)))
	} else {
		form.Set("query", fmt.Sprintf("%s[%dms]", q.Select, max(to.Sub(from)/model.Millisecond, 1)))
		form.Set("time", seconds(to-1000))
	}
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(q.URL, "/")+path+"?"+form.Encode(), nil)
	if err != nil {
		return nil, err
	}
	if q.Token != "" {
		get.Header.Set("Authorization", "Bearer "+q.Token)
	}
	answer, err := client.Do(get)
	if err != nil {
		var detail *url.Error
		if errors.As(err, &detail) { // without the query, and without a password in the address
			err = detail.Err
		}
		return nil, fmt.Errorf("asking %s: %w", host(q.URL), err)
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	text, err = io.ReadAll(io.LimitReader(answer.Body, q.MaxBody+1))
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", host(q.URL), err)
	}
	if int64(len(text)) > q.MaxBody {
		return nil, errLarge
	}
	if answer.StatusCode != http.StatusOK {
		return nil, refused(host(q.URL), answer.Status, text)
	}
	return text, nil
}

// refused is an answer that is none.
func refused(server, status string, text []byte) error {
	var said struct{ Error string }
	_ = json.Unmarshal(text, &said) // a proxy may have answered
	if strings.Contains(said.Error, "too many samples") || strings.Contains(said.Error, "maximum resolution") {
		return fmt.Errorf("%w: %s", errLarge, said.Error)
	}
	return fmt.Errorf("%s answers %s %s", server, status, said.Error)
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the server"
	}
	return u.Host
}

// seconds is an instant, or a span, as the API has it.
func seconds(t model.Time) string { return strconv.FormatFloat(float64(t)/1e6, 'f', 3, 64) }
