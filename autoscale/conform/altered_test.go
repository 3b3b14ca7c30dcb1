package conform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/tools/refdata"
)

// expectations are the fields of each schema that are no inputs, beside those below
// expected or result, or whose name begins with expected. Of a step [] stands for all.
var expectations = map[string]string{
	"hpa-controller":              `^(action|error|cpu_current|conditions\[\d+\]\[\d+\])$`,
	"hpa-replica-calc":            `^(resource|metric)\.expected_`,
	"hpa-rate-limit":              `^condition$`,
	"hpa-stabilize":               `^condition$`,
	"hpa-trace":                   `^steps\[\]\.(able|limited|out|path|raw_desired)$`,
	"kpa-scale":                   `^calls\[\]\.(desired|ebc|valid|panicking_after)$`,
	"maestro-trace":               `^steps\[\]\.(delta|applied|in_sync|changed_state|state_after|last_scale_op)$`,
	"neon-plugin-sequence":        `^steps\[\]\.(overbudget|permit|node_after\..*|pod_after\..*)$`,
	"neon-plugin-migration-queue": `^steps\[\]\.(next|next_load1)$`,
	"lcm-scheduler":               `^(retry_after|scale_up_requests|requeue_after_s)$`,
	"model-queueing":              `^(utilization|erlang_[bc]|mean_.*|p_wait_gt_1s)$`,
}

var (
	expected = regexp.MustCompile(`^((steps|calls)\[\]\.)?(expected|result)`)
	// Of these null says that nothing is expected, as where they are missing.
	optional = regexp.MustCompile(`^(condition|expected_log_len|expected\.(score|template|worker_id)|expected_(up|down|utilization)|requeue_after_s|retry_after|scale_up_requests|steps\[\]\.(expected_alert|overbudget|permit))$`)
	stepped  = regexp.MustCompile(`^(steps|calls)\[(\d+)\]`)
)

// leaf is a value of a case that can be altered.
type leaf struct {
	path  string // with the number of the step open
	step  int
	value any
	set   func(any)
}

// leaves are those of a decoded value, in an order that does not matter.
func leaves(v any, path string, set func(any)) (list []leaf) {
	switch x := v.(type) {
	case map[string]any:
		for k, item := range x {
			list = append(list, leaves(item, strings.TrimPrefix(path+"."+k, "."), func(v any) { x[k] = v })...)
		}
	case []any:
		for i, item := range x {
			list = append(list, leaves(item, fmt.Sprintf("%s[%d]", path, i), func(v any) { x[i] = v })...)
		}
	default:
		l := leaf{path: path, step: none, value: v, set: set}
		if m := stepped.FindStringSubmatch(path); m != nil {
			_, _ = fmt.Sscan(m[2], &l.step)
			l.path = m[1] + "[]" + path[len(m[0]):]
		}
		return []leaf{l}
	}
	return list
}

// altered is another value of the same type.
func altered(v any) any {
	switch x := v.(type) {
	case bool:
		return !x
	case string:
		return x + "-altered"
	case json.Number:
		n, _ := x.Float64()
		return n + 1
	}
	return 1 // of null
}

// A short run alters cases of each file that are spread over all of it: so many of them, or
// fewer where they have many steps.
const (
	shortly      = 6
	shortlyBytes = 30_000
)

// Each expectation of each recorded case is altered, and made null: what was altered fails,
// or is refused. Those of steps are altered at every third step at a time, so that what
// the next one reads of them is as recorded.
func TestEachExpectationIsJudged(t *testing.T) {
	dir := refdata.Path(t, "conformance")
	for _, s := range schemas() {
		t.Run(s.name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join(dir, s.name+".json"))
			require.NoError(t, err)
			var h header
			require.NoError(t, json.Unmarshal(content, &h))
			more := regexp.MustCompile(`^$`)
			if x, ok := expectations[s.name]; ok {
				more = regexp.MustCompile(x)
			}
			n, taken, each, size := 0, 0, 1, 0
			if testing.Short() {
				each = max(1, len(h.Cases)/shortly)
			}
			for i := 0; i < len(h.Cases) && (!testing.Short() || size < shortlyBytes); i += each {
				size += len(h.Cases[i])
				n += alterCase(t, s, h.Cases[i], more)
				taken++
			}
			t.Logf("%d expectations of %d cases of %d", n, taken, len(h.Cases))
			require.GreaterOrEqual(t, n, taken)
		})
	}
}

// alterCase alters the expectations of a case, and returns how many it has.
func alterCase(t *testing.T, s schema, raw json.RawMessage, more *regexp.Regexp) (n int) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v map[string]any
	require.NoError(t, d.Decode(&v))
	require.Zero(t, failuresOf(s, raw))
	groups := map[string][]leaf{}
	for _, l := range leaves(v, "", nil) {
		if expected.MatchString(l.path) || more.MatchString(l.path) {
			key := l.path
			if l.step != none {
				key = fmt.Sprintf("%s %d", l.path, l.step%3)
			}
			groups[key] = append(groups[key], l)
			n++
		}
	}
	for key, list := range groups {
		if unjudged(s.name, list[0].path) {
			continue
		}
		for _, to := range []func(any) any{altered, func(any) any { return nil }} {
			changed := 0
			for _, l := range list {
				if w := to(l.value); w != l.value {
					l.set(w)
					changed++
				}
			}
			b, err := json.Marshal(v)
			require.NoError(t, err)
			if seen := failuresOf(s, b); seen < changed && !(to(0) == nil && optional.MatchString(list[0].path)) {
				t.Errorf("%v: %s: %d of %d were seen when %v became %v", v["id"], key, seen, changed, list[0].value, to(list[0].value))
			}
			for _, l := range list {
				l.set(l.value)
			}
		}
	}
	return n
}

// unjudged are remarks.
func unjudged(name, path string) bool {
	return slices.Contains([]string{"lcm-commands expected.note"}, name+" "+path)
}

// failuresOf is how many checks of a case fail; all, where it is refused.
func failuresOf(s schema, raw json.RawMessage) int {
	var f File
	f.checkCase(s, raw, 0)
	if len(f.Refused) > 0 {
		return 1 << 20
	}
	return f.Failed
}
