package scaling

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/sim/service/demand"
)

// numbersOf are the keys below a struct that have a number or a span, with their defaults.
func numbersOf(in reflect.Type, path string) (keys []string, defaults map[string]string) {
	defaults = map[string]string{}
	for i := range in.NumField() {
		f := in.Field(i)
		name, some := f.Tag.Lookup("yaml")
		if !some {
			continue
		}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch of.Kind() {
		case reflect.Int64, reflect.Int32, reflect.Float64:
			keys = append(keys, path+name)
			defaults[path+name] = f.Tag.Get("default")
		}
	}
	return keys, defaults
}

// A key of a policy that says 0 builds another policy than one that is left out, is an error,
// or is 0 without being said: never the default in silence.
func TestWrittenZeroIsBuilt(t *testing.T) {
	file := func(kind, key string) string {
		service, more := "kind: queue", ""
		switch {
		case strings.HasPrefix(kind, "maestro"):
			service = "kind: rooms"
		case strings.HasPrefix(kind, "lcm"):
			service = "kind: rooms, line: -1"
		}
		if key != "idle_after" && strings.HasPrefix(kind, "lcm") {
			more = ", idle_after: 10m"
		}
		if key != "" {
			more += ", " + key + ": 0"
		}
		return fmt.Sprintf("demand: {shape: constant, base: 1, length: 1h}\nservice: {%s}\npolicies:\n  - {kind: %s%s}\n", service, kind, more)
	}
	built := func(text string) (any, error) {
		s, err := profiles.ParseScaling("s.yaml", []byte(text))
		if err != nil {
			return nil, err
		}
		if p := &s.Policies[0]; ownFleet(p) {
			c := configOf(s, &demand.Demand{End: 1})
			return fleetOf(p, &c, nil), nil
		}
		r, err := build(s, 0, configOf(s, &demand.Demand{End: 1}), nil, 0)
		return r, err
	}
	keys, defaults := numbersOf(reflect.TypeFor[profiles.ScalingPolicy](), "")
	asked := 0
	for _, kind := range []string{"fixed", "clairvoyant", "lattice", "lattice-coded", "hpa", "kpa", "keda", "maestro", "maestro-10", "neon", "lcm", "lcm-coded"} {
		without, err := built(file(kind, ""))
		require.NoError(t, err, kind)
		for _, key := range keys {
			with, err := built(file(kind, key))
			if err != nil {
				continue // it is refused, or is of other kinds
			}
			asked++
			if d := defaults[key]; d == "0" || d == "0s" || kind == "kpa" && key == "down_window" || kind == "hpa" && key == "up_window" || kind == "maestro-10" && key == "down_cooldown" {
				continue // 0 without being said
			}
			require.NotEqual(t, without, with, "%s: %s: 0 is what it is without it", kind, key)
		}
	}
	require.Greater(t, asked, 30)

	// Of the service: in the configuration.
	keys, defaults = numbersOf(reflect.TypeFor[profiles.ScalingService](), "service.")
	more, others := numbersOf(reflect.TypeFor[profiles.ScalingFaults](), "faults.")
	for _, key := range append(keys, more...) {
		if d := defaults[key] + others[key]; d == "0" || d == "0s" {
			continue
		}
		block, name, _ := strings.Cut(key, ".")
		text := fmt.Sprintf("demand: {shape: constant, base: 9, length: 1h}\n%s: {%s: 0}\npolicies:\n  - {kind: hpa}\n", block, name)
		s, err := profiles.ParseScaling("s.yaml", []byte(text))
		if err != nil {
			continue
		}
		plain, err := profiles.ParseScaling("s.yaml", []byte("demand: {shape: constant, base: 9, length: 1h}\npolicies:\n  - {kind: hpa}\n"))
		require.NoError(t, err)
		d := &demand.Demand{End: 1}
		a, b := configOf(s, d), configOf(plain, d)
		a.Supply.Start, b.Supply.Start = start(s, &s.Policies[0], &a.Supply, []int64{7}), start(plain, &plain.Policies[0], &b.Supply, []int64{7})
		require.NotEqual(t, b, a, "%s: 0 is what it is without it", key)
	}
}
