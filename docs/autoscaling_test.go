package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/autoscale/hpa"
	"orrery/autoscale/keda"
	"orrery/autoscale/kpa"
	"orrery/autoscale/lattice"
	"orrery/autoscale/lcm"
	"orrery/autoscale/maestro"
	"orrery/autoscale/neon"
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
	n, m, v, trigger, down := neon.Defaults(), maestro.Defaults(), maestro.V10Defaults(), maestro.DefaultTrigger(), lcm.ReconcilerDefaults()
	require.Equal(t, autoscale.Resources{CPU: 250, Memory: 1 << 30}, n.Unit)
	for heading, want := range map[string]map[string]string{
		"Neon, the agent": {"Unit": "250 thousandths of a CPU and 1 GiB", "LoadTarget": fmt.Sprint(n.LoadTarget), "MemoryTarget": fmt.Sprint(n.MemoryTarget), "TotalTarget": fmt.Sprint(n.TotalTarget),
			"CacheMetrics": fmt.Sprint(n.CacheMetrics), "CacheShare": fmt.Sprint(n.CacheShare), "CacheWindow": fmt.Sprint(n.CacheWindow), "CacheWait": fmt.Sprint(n.CacheWait), "Tick": brief(n.Tick),
			"PermitRetry": brief(n.PermitRetry), "DeniedRetry": brief(n.DeniedRetry), "VMRetry": brief(n.VMRetry), "TellRetry": brief(n.TellRetry), "DownRetry": brief(n.DownRetry),
			"WishValid": brief(n.WishValid), "StepUp": fmt.Sprint(n.StepUp)},
		"Maestro 9": {"Period": brief(m.Period), "MaxScaleUp": fmt.Sprint(m.MaxScaleUp), "Panic": fmt.Sprint(m.Panic), "LargerWindow": fmt.Sprint(m.LargerWindow), "Usage": fmt.Sprint(trigger.Usage),
			"Threshold": fmt.Sprint(trigger.Threshold), "Time": brief(trigger.Time), "Limit": fmt.Sprint(trigger.Limit), "Delta": fmt.Sprint(trigger.Delta)},
		"Maestro 10": {"MaxMatches": fmt.Sprint(v.MaxMatches), "DownThreshold": fmt.Sprint(v.DownThreshold), "DownCooldown": brief(v.DownCooldown), "Period": brief(v.Period)},
		"LCM, the reconciler": {"Enabled": fmt.Sprint(down.Enabled), "MinWorkers": fmt.Sprint(down.MinWorkers), "Cooldown": brief(down.Cooldown), "Interval": brief(down.Interval), "IdleAfter": brief(down.IdleAfter),
			"Snooze": brief(down.Snooze), "AutoPause": fmt.Sprint(down.AutoPause)},
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

// The tables of two modes are those of the packages.
func TestModesOfPolicies(t *testing.T) {
	a, b := lcm.SchedulerDefaults(), lcm.SchedulerCoded()
	require.Equal(t, [][]string{
		{"`Interval`", brief(a.Interval), brief(b.Interval)}, {"`Debounce`", brief(a.Debounce), brief(b.Debounce)}, {"`Concurrent`", fmt.Sprint(a.Concurrent), fmt.Sprint(b.Concurrent)},
		{"`CacheTTL`", brief(a.CacheTTL), brief(b.CacheTTL)}, {"`MaxRetries`", fmt.Sprint(a.MaxRetries), fmt.Sprint(b.MaxRetries)}, {"`Requeue`", brief(a.Requeue), brief(b.Requeue)},
	}, modes(t, "LCM, the scheduler"))
	require.Equal(t, []bool{true, true, false, false, false, true}, []bool{a.Polling, a.Watch, a.CountOwn, a.NumericVersions, a.PendingAware, b.Coded})
	c, d := neon.PluginDefaults(), neon.Documented()
	require.Equal(t, []any{float32(0.9), float32(0.9), neon.Scoring{Empty: 0.5, Full: 0, Peak: 0.8}}, []any{c.CPUWatermark, c.MemoryWatermark, c.Scoring})
	switches := map[string][2]bool{"Migrate": {c.Migrate, d.Migrate}, "AccountPressure": {c.AccountPressure, d.AccountPressure}, "RefuseOver": {c.RefuseOver, d.RefuseOver},
		"EvenWatermark": {c.EvenWatermark, d.EvenWatermark}, "CheckUnit": {c.CheckUnit, d.CheckUnit}}
	found := 0
	for _, r := range modes(t, "Neon, the plugin") {
		if v, ok := switches[strings.Trim(r[0], "`")]; ok {
			said, _, _ := strings.Cut(r[2], ":")
			require.Equal(t, []string{fmt.Sprint(v[0]), fmt.Sprint(v[1])}, []string{r[1], said}, r[0])
			found++
		}
	}
	require.Len(t, switches, found)
}

// modes are the rows of three cells of a section whose first is a key.
func modes(t *testing.T, heading string) (list [][]string) {
	for _, r := range rows(section(t, autoscaling, heading)) {
		if key := strings.Trim(r[0], "`"); len(r) == 3 && key != strings.ToLower(key) {
			list = append(list, r)
		}
	}
	return list
}
