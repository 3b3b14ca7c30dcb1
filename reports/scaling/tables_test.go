package scaling

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/scaling"
	"orrery/sim/stat"
)

// policyOf is one with these means, and nothing of the other measures.
func policyOf(name, kind string, missed, cost float64) scaling.Policy {
	p := scaling.Policy{Name: name, Kind: kind, Mean: make([]stat.Interval, len(scaling.Measures()))}
	for i := range p.Mean {
		p.Mean[i] = stat.Interval{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	p.Mean[measureAt(new(scaling.Comparison), "missed")].Estimate, p.Mean[measureAt(new(scaling.Comparison), "cost")].Estimate = missed, cost
	return p
}

// What knows the demand ahead takes no place among those that do not, and ties are all named.
func TestReferenceWinsNothing(t *testing.T) {
	c := &scaling.Comparison{Seeds: 1, Policies: []scaling.Policy{
		policyOf("fixed-20", "fixed", 0, 480), policyOf("hpa", "hpa", 0, 225), policyOf("lcm", "lcm", 2, 174),
		policyOf("worse", "lcm", 3, 300), policyOf("seer", "clairvoyant", 0, 100),
	}}
	require.Contains(t, About(c), "Fewest missed, in percent: fixed-20, hpa (0). Lowest cost: lcm (174). Not dominated by cost and misses: hpa, lcm; clairvoyant is a reference and left out.")
	drawn := figures(c)
	trade := drawn[len(drawn)-1]
	require.Contains(t, trade.Alt(), "seer: 0.0 % and 100", "the reference is drawn")
	var svg strings.Builder
	require.NoError(t, trade.WriteSVG(&svg))
	require.Contains(t, svg.String(), "a reference")

	c.Policies = c.Policies[:4]
	require.Contains(t, About(c), "Fewest missed, in percent: fixed-20, hpa (0). Lowest cost: lcm (174). Not dominated by cost and misses: hpa, lcm.")
	drawn = figures(c)
	svg.Reset()
	require.NoError(t, drawn[len(drawn)-1].WriteSVG(&svg))
	require.NotContains(t, svg.String(), "reference")

	c.Policies = []scaling.Policy{policyOf("hpa", "hpa", 1, 1), policyOf("seer", "clairvoyant", 0, 100)}
	require.Len(t, About(c), 1, "one alone wins nothing")
}

// A backlog that a policy leaves behind is said, for its cost is not in the figures.
func TestRequestsThatStillWaitAreNamed(t *testing.T) {
	c := &scaling.Comparison{Seeds: 1, Policies: []scaling.Policy{policyOf("hpa", "hpa", 1, 1), policyOf("small", "fixed", 60, 1)}}
	require.NotContains(t, strings.Join(About(c), " "), "still waited")
	c.Policies[1].Mean[measureAt(c, "open")].Estimate = 37.5
	require.Contains(t, About(c), "Requests still waited when the run ended, and are late where that was longer than the goal allows: small (37.5 %).")
}
