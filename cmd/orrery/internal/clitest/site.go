package clitest

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// AServedSite has a service of which the policy keeps twice what is needed.
const AServedSite = `
routing: {otherwise: batch}
groups: [{name: g, nodes: 12, fingerprint: a}]
vclusters:
- {name: batch, home: 6, profile: {order: fcfs}}
- {name: serving, home: 6}
services:
- name: chat
  vcluster: serving
  min: 1
  max: 6
  demand: {shape: sine, base: 5, peak: 40, period: 20m, length: 9h, grain: 30s, noise: 0.2}
  service: {slots: 10, work: 800ms, boot: 30s, scrape: 5s, mode: fluid, goal: {limit: 1s}}
  policy: {kind: hpa, target: 0.3, down_window: 10m}
`

// WholeMetrics are the numbers of a run over all jobs.
func WholeMetrics(t *testing.T, path string) map[string]float64 {
	t.Helper()
	var doc struct {
		Metrics []struct {
			Name, Window string
			Value        *float64
		}
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &doc))
	out := map[string]float64{}
	for _, m := range doc.Metrics {
		if m.Window == "all" && m.Value != nil {
			out[m.Name] = *m.Value
		}
	}
	return out
}
