package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/autoscale/hpa"
	"orrery/autoscale/keda"
	"orrery/autoscale/kpa"
	"orrery/autoscale/lattice"
	"orrery/scheduler/model"
)

const autoscaling = "docs/AUTOSCALING.md"

// The page names the rules and guards of the contract and of each policy that it describes.
func TestRulesAndGuardsOfPolicies(t *testing.T) {
	text := documents(t)[autoscaling]
	named := regexp.MustCompile(`(?m)^\t(?:Rule|Guard)\w+\s+(?:autoscale\.)?(?:Rule|Guard)\s*= "([a-z_]+)"`)
	described := []string{"autoscale"}
	for _, m := range regexp.MustCompile("(?m)^Package `(autoscale/[a-z]+)`").FindAllStringSubmatch(text, -1) {
		described = append(described, m[1])
	}
	require.Greater(t, len(described), 5)
	n := 0
	for path, code := range sources(t) {
		for _, dir := range described {
			if strings.TrimPrefix(path, dir+"/") == path || strings.Count(path, "/") != strings.Count(dir, "/")+1 || strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, m := range named.FindAllStringSubmatch(code, -1) {
				require.Contains(t, text, "`"+m[1]+"`", path)
				n++
			}
		}
	}
	require.Greater(t, n, 30)
}

// The table of case files is that of the schemas.
func TestCaseFilesOfPolicies(t *testing.T) {
	var want []string
	for path, code := range sources(t) {
		if strings.HasPrefix(path, "autoscale/conform/") && !strings.HasSuffix(path, "_test.go") {
			for _, m := range regexp.MustCompile(`(?:cases|return cases)\("([a-z0-9-]+)", `).FindAllStringSubmatch(code, -1) {
				want = append(want, m[1])
			}
		}
	}
	require.ElementsMatch(t, want, firstCells(section(t, autoscaling, "Conformance")))
}

// brief is a span as the page writes it.
func brief(d model.Duration) string {
	s := (time.Duration(d) * time.Microsecond).String()
	if s != "0s" {
		s = strings.TrimSuffix(s, "m0s") + map[bool]string{true: "m"}[strings.HasSuffix(s, "m0s")]
	}
	return s
}

// The defaults are those of the packages.
func TestDefaultsOfPolicies(t *testing.T) {
	l, c, h, k, e := lattice.Defaults(), lattice.CodedDefaults(), hpa.Defaults(), kpa.Defaults(), keda.Defaults()
	require.Equal(t, []any{0.1, 0.1, int64(4), int64(100), 15 * model.Second}, []any{h.Tolerance.Up, h.Tolerance.Down, h.Up.Policies[0].Value, h.Up.Policies[1].Value, h.Up.Policies[1].Period})
	for heading, want := range map[string]map[string]string{
		"Lattice, as documented": {"Interval": brief(l.Interval), "UpWindow": brief(l.UpWindow), "DownWindow": brief(l.DownWindow), "DownThreshold": fmt.Sprint(l.DownThreshold), "Cooldown": brief(l.Cooldown), "MaxAge": brief(l.MaxAge)},
		"Lattice, as coded":      {"UpThreshold": fmt.Sprint(c.UpThreshold), "DownThreshold": fmt.Sprint(c.DownThreshold), "Cooldown": brief(c.Cooldown), "Min": fmt.Sprint(c.Min), "Max": fmt.Sprint(c.Max)},
		"Kubernetes HPA": {"Interval": brief(h.Interval), "Tolerance": fmt.Sprint(h.Tolerance.Up), "DownWindow": brief(h.DownWindow), "UpFactor": fmt.Sprint(h.UpFactor), "CPUInit": brief(h.CPUInit),
			"ReadyDelay": brief(h.ReadyDelay), "MaxAge": brief(h.MaxAge), "Up": "no window; the larger of 4 pods and 100 % in 15s", "Down": "window " + brief(h.Down.Window) + "; 100 % in 15s"},
		"Knative KPA": {"Target": fmt.Sprint(k.Target), "Total": fmt.Sprint(k.Total), "BurstCapacity": fmt.Sprint(k.BurstCapacity), "PanicThreshold": fmt.Sprint(k.PanicThreshold),
			"MaxUp": fmt.Sprint(k.MaxUp), "MaxDown": fmt.Sprint(k.MaxDown), "StableWindow": brief(k.StableWindow), "DownDelay": brief(k.DownDelay), "Activation": fmt.Sprint(k.Activation),
			"ZeroGrace": brief(k.ZeroGrace), "Interval": brief(k.Interval), "MaxAge": brief(k.MaxAge)},
		"KEDA": {"Min": fmt.Sprint(e.Min), "Idle": "−1: none stated", "Triggers": fmt.Sprint(e.Triggers), "Cooldown": brief(e.Cooldown), "Initial": brief(e.Initial), "Interval": brief(e.Interval)},
	} {
		got := map[string]string{}
		for _, r := range rows(section(t, autoscaling, heading)) {
			if key := strings.Trim(r[0], "`"); len(r) == 2 && key != strings.ToLower(key) {
				got[key] = r[1]
			}
		}
		require.Equal(t, want, got, heading)
	}
}
