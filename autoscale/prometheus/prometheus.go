// Package prometheus reads the samples that a policy goes by from the HTTP API of a
// Prometheus server, for live use. Whatever goes wrong is a sample without a value, never a
// number: a policy that is told so leaves the size as it is. It must not know policies.
//
// The API is documented at https://prometheus.io/docs/prometheus/latest/querying/api/.
package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"orrery/autoscale"
	"orrery/internal/samehost"
	"orrery/scheduler/model"
)

// Query is one series as a policy wants it.
type Query struct {
	Metric   autoscale.Metric
	Series   string // name of the metric in Prometheus
	Matchers []Matcher
	Reduce   string         // over the nodes: avg, sum, max or min; none for a sample of each node
	Window   model.Duration // averaged over; 0 is the latest value
}

// Matcher is an equality of a label.
type Matcher struct{ Label, Value string }

// Config is that of a client for one allocation.
type Config struct {
	URL     string // of the server, http://host:9090
	Label   string // that names the node, such as instance
	Nodes   []string
	Queries []Query
	Timeout time.Duration // of a request
	MaxBody int64         // bytes of an answer that are read; more is no answer
}

// Client asks for the samples of one allocation: of its own nodes and of no others.
type Client struct {
	cfg      Config
	http     http.Client
	failures int64
	last     error
}

// reductions over nodes.
var reductions = []string{"", "avg", "sum", "max", "min"}

// New makes a client. It asks nothing yet.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the URL of Prometheus: %w", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the URL of Prometheus, %s: want http or https", cfg.URL)
	case !word(cfg.Label) || len(cfg.Nodes) == 0:
		return nil, fmt.Errorf("label %q of %d nodes: want the name of a label, and some nodes", cfg.Label, len(cfg.Nodes))
	case cfg.Timeout <= 0 || cfg.MaxBody <= 0:
		return nil, fmt.Errorf("timeout %v and %d bytes: want more than 0", cfg.Timeout, cfg.MaxBody)
	}
	for i, q := range cfg.Queries {
		if !word(q.Series) || !slices.Contains(reductions, q.Reduce) || q.Window < 0 {
			return nil, fmt.Errorf("query %d: series %q, reduction %q and window %v: want a name, one of avg, sum, max, min or none, and no negative window", i, q.Series, q.Reduce, q.Window)
		}
		for _, m := range q.Matchers {
			if !word(m.Label) || m.Label == cfg.Label {
				return nil, fmt.Errorf("query %d: label %q: want the name of another label than that of the nodes", i, m.Label)
			}
		}
	}
	return &Client{cfg: cfg, http: samehost.Client(cfg.Timeout)}, nil
}

// word says whether s is a name of Prometheus.
func word(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == ':'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// Failures is how many queries had no answer, and Last why the last one had none.
func (c *Client) Failures() int64 { return c.failures }

// Last is described there.
func (c *Client) Last() error { return c.last }

// Facts asks all queries and appends their samples, in the order of the queries and of the
// nodes. now is the policy's instant and wall the same on the clock of the server, by which
// ages are told. A query that fails gives samples that are missing.
func (c *Client) Facts(ctx context.Context, now model.Time, wall time.Time, facts []autoscale.Fact) []autoscale.Fact {
	for i := range c.cfg.Queries {
		q := &c.cfg.Queries[i]
		missing := autoscale.Fact{Kind: autoscale.FactSample, Metric: q.Metric, Entity: autoscale.Whole, At: now, Window: q.Window, Missing: true}
		values, err := c.fetch(ctx, c.expression(q, false), wall)
		var stamps []sample
		if err == nil {
			stamps, err = c.fetch(ctx, c.expression(q, true), wall)
		}
		if err == nil && q.Reduce != "" && len(values) != 1 {
			err = fmt.Errorf("%d values of %s: want one", len(values), q.Series)
		}
		if err != nil {
			c.failures++
			c.last = err
		}
		if q.Reduce != "" {
			facts = append(facts, filled(missing, values, stamps, "", err, wall))
			continue
		}
		for e, node := range c.cfg.Nodes {
			f := missing
			f.Entity = autoscale.Entity(e)
			facts = append(facts, filled(f, values, stamps, node, err, wall))
		}
	}
	return facts
}

// filled is a missing sample with the value of a node, or of the whole, as far as there is
// one: At goes back by its age.
func filled(f autoscale.Fact, values, stamps []sample, node string, err error, wall time.Time) autoscale.Fact {
	of := func(s sample) bool { return s.node == node }
	v, at := slices.IndexFunc(values, of), slices.IndexFunc(stamps, of)
	if err != nil || v < 0 || at < 0 || math.IsNaN(values[v].value) || math.IsInf(values[v].value, 0) || !(stamps[at].value > 0) {
		return f
	}
	age := float64(wall.UnixMicro())/1e6 - stamps[at].value
	f.Value, f.Missing = values[v].value, false
	f.At = f.At.Add(-model.Duration(max(0, age) * float64(model.Second)))
	return f
}

// expression is the query in PromQL, or that of the oldest instant of what it is made of.
func (c *Client) expression(q *Query, stamp bool) string {
	var b strings.Builder
	b.WriteString(q.Series + "{" + c.cfg.Label + "=~" + strconv.Quote(alternatives(c.cfg.Nodes)))
	for _, m := range q.Matchers {
		b.WriteString("," + m.Label + "=" + strconv.Quote(m.Value))
	}
	b.WriteString("}")
	series := b.String()
	switch {
	case stamp && q.Reduce != "":
		return "min(timestamp(" + series + "))"
	case stamp:
		return "min by (" + c.cfg.Label + ") (timestamp(" + series + "))"
	}
	if q.Window > 0 {
		series = fmt.Sprintf("avg_over_time(%s[%dms])", series, q.Window/model.Millisecond)
	}
	if q.Reduce != "" {
		return q.Reduce + "(" + series + ")"
	}
	return series
}

// alternatives is a regular expression for the nodes and no others.
func alternatives(nodes []string) string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = regexp.QuoteMeta(n)
	}
	return strings.Join(out, "|")
}

// sample is one value of an answer.
type sample struct {
	node  string // "" for a reduced one
	value float64
}

// answer is that of the API.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Type   string `json:"resultType"`
		Result []struct {
			Labels map[string]string  `json:"metric"`
			Value  [2]json.RawMessage `json:"value"`
		} `json:"result"`
	} `json:"data"`
}

// fetch makes one instant query. No value at all is an error, too.
func (c *Client) fetch(ctx context.Context, expression string, wall time.Time) ([]sample, error) {
	form := url.Values{"query": {expression}, "time": {strconv.FormatFloat(float64(wall.UnixMicro())/1e6, 'f', 6, 64)}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.cfg.URL, "/")+"/api/v1/query?"+form.Encode(), nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, c.cfg.MaxBody+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(text)) > c.cfg.MaxBody:
		return nil, fmt.Errorf("an answer of more than %d bytes", c.cfg.MaxBody)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("status %d and no answer of Prometheus: %w", response.StatusCode, err)
	}
	if response.StatusCode != http.StatusOK || a.Status != "success" || a.Data.Type != "vector" {
		return nil, fmt.Errorf("status %d, %s, a result of type %q: %s", response.StatusCode, a.Status, a.Data.Type, a.Error)
	}
	return c.samples(&a)
}

var errNone = errors.New("no such series, or none with a value")

// samples are the values of an answer; a node that is there twice is not known.
func (c *Client) samples(a *answer) ([]sample, error) {
	var out []sample
	for _, r := range a.Data.Result {
		var text string
		if err := json.Unmarshal(r.Value[1], &text); err != nil {
			return nil, fmt.Errorf("a value that is no text: %w", err)
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("a value that is no number: %w", err)
		}
		node := r.Labels[c.cfg.Label]
		if slices.ContainsFunc(out, func(s sample) bool { return s.node == node }) {
			return nil, fmt.Errorf("two series of node %q: add a matcher", node)
		}
		out = append(out, sample{node, v})
	}
	if len(out) == 0 {
		return nil, errNone
	}
	return out, nil
}
