package profiles

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// A 0 that is written is a 0 or an error, and never what the key is without it: of every key
// of every file that has a number, a span, a size or an amount.
func TestWrittenZeroIsNoDefault(t *testing.T) {
	keys, refused, zeros := 0, 0, 0
	seen := map[reflect.Type]bool{}
	var walk func(in reflect.Type, path string)
	walk = func(in reflect.Type, path string) {
		if seen[in] {
			return
		}
		seen[in] = true
		for _, f := range fieldsOf(in) {
			at := join(path, f.key)
			switch f.kind {
			case aBlock:
				walk(f.Type, at)
			case blocks:
				walk(f.Type.Elem(), at)
			case aWhole, aNumber, aSpan, aSize, anAmount:
				keys++
				v := reflect.New(f.Type).Elem()
				setDefault(v, f)
				c := &checker{problems: problems{src: &source{at: map[string]place{}}}}
				err := parseScalar("0", v, f)
				if err == nil {
					c.within(at, v, f)
				}
				if err != nil || len(c.problems.list) > 0 {
					refused++
					continue
				}
				zeros++
				number := reflect.Indirect(v)
				require.True(t, number.IsValid() && number.IsZero(), "%s: a written 0 is %v", at, v)
				zeroByDefault := reflect.New(f.Type).Elem()
				setDefault(zeroByDefault, f)
				if same := f.tag("same") == "0" || !(f.Type.Kind() == reflect.Pointer) && zeroByDefault.IsZero() && f.tag("zero") == ""; !same {
					require.False(t, isDefault(v, f), "%s: a written 0 is the same as %q", at, f.tag("default"))
					require.NotEqual(t, f.tag("zero"), formatScalar(v, f), at)
				}
			}
		}
	}
	for _, k := range Kinds() {
		walk(typeOf(k), string(k))
	}
	require.Greater(t, keys, 250)
	require.Greater(t, refused, 80)
	require.Greater(t, zeros, 100)
	t.Logf("%d keys: a written 0 is refused by %d, and taken by %d", keys, refused, zeros)
}

// It is told with its line what to write.
func TestWrittenZeroIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"order: fcfs\nbackfill: conservative\ndepth: 0\n":       "p.yaml:3:8: depth: found 0, want all, or more than 0: a 0 is not taken for all",
		"order: fcfs\nbackfill: conservative\nbf_window: 0s\n":  "p.yaml:3:12: bf_window: found 0s, want none, or more than 0: a 0 is not taken for none",
		"order: multifactor\nmultifactor: {half_life: 0s}\n":    "",
		"order: fcfs\nbackfill: conservative\nbf_interval: 0\n": "",
	} {
		_, err := Parse("p.yaml", []byte(text))
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
	}
	const head = "demand: {shape: constant, base: 1, length: 1h}\npolicies:\n"
	for key, want := range map[string]string{
		"kind: lattice, interval: 0s": "s.yaml:3:31: policies[0].interval: found 0s, want 1ms or more",
		"kind: kpa, panic: 0":         "s.yaml:3:24: policies[0].panic: found 0, want 1.01 or more",
		"kind: lcm, max_retries: 0":   "policies[0].max_retries: found 0, want 1 to 1000000",
		"kind: hpa, min: 0":           "policies[0].min: found 0, want 1 or more: an HPA keeps a replica; keda goes to zero",
		"kind: lattice, cooldown: 0s": "",
		"kind: hpa, tolerance: 0":     "",
	} {
		_, err := ParseScaling("s.yaml", []byte(head+"  - {"+key+"}\n"))
		if want == "" {
			require.NoError(t, err, key)
			continue
		}
		require.ErrorContains(t, err, want, key)
	}
}

// A file that says 0 where that means something is another file than one that says nothing.
func TestWrittenZeroHasItsOwnBytes(t *testing.T) {
	const head = "node_types: [{name: a, cpus: 1}]\ngroups: [{name: g, nodes: 4, type: a}]\nservices:\n  - {name: s, demand: {shape: constant, base: 1, length: 1h}, policy: {kind: lattice"
	bytes := func(keys string) string {
		c, err := ParseCluster("c.yaml", []byte(head+keys+"}}\n"))
		require.NoError(t, err, keys)
		return string(c.JSON())
	}
	plain := bytes("")
	require.Equal(t, plain, bytes(", cooldown: usual"))
	for _, key := range []string{"cooldown: 0s", "up_window: 0s", "down_window: 0s", "down_threshold: 0"} {
		require.NotEqual(t, plain, bytes(", "+key), key)
	}
}
