package catalogue

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFiguresAreWhole: each has a value in its range, a unit, a basis and a source, and each name
// stands once.
func TestFiguresAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		require.Regexp(t, regexp.MustCompile(`^[a-z0-9-]+$`), p.Name)
		require.False(t, seen[p.Name], p.Name)
		seen[p.Name] = true
		require.NotEmpty(t, p.Title, p.Name)
		names := map[string]bool{}
		for _, f := range p.Figures {
			require.False(t, names[f.Name], "%s: %s twice", p.Name, f.Name)
			names[f.Name] = true
			if p.Kind != Work {
				require.Equal(t, units[f.Name], f.Unit, "%s: %s", p.Name, f.Name)
			}
			require.NotEmpty(t, f.Unit, "%s: %s", p.Name, f.Name)
			require.Positive(t, f.Low, "%s: %s", p.Name, f.Name)
			require.LessOrEqual(t, f.Low, f.Value, "%s: %s", p.Name, f.Name)
			require.LessOrEqual(t, f.Value, f.High, "%s: %s", p.Name, f.Name)
			require.Contains(t, []Basis{Measured, Published, DataSheet}, f.Basis, "%s: %s", p.Name, f.Name)
			require.NotEmpty(t, f.Source, "%s: %s", p.Name, f.Name)
		}
	}
	require.Greater(t, len(seen), 25)
}

// TestFiguresAgree: a limit is in its range, a card that is held draws more than one that is
// idle and less than its limit, and nodes have GPUs of this catalogue and draw more than these.
func TestFiguresAgree(t *testing.T) {
	value := func(p Part, name string) float64 { f, _ := p.Figure(name); return f.Value }
	for _, p := range All() {
		limit := value(p, PowerLimit)
		if least := value(p, LeastLimit); least > 0 {
			require.Less(t, least, limit, p.Name)
			require.GreaterOrEqual(t, value(p, MostLimit), limit, p.Name)
		}
		if idle, held := value(p, IdlePower), value(p, HeldPower); held > 0 {
			require.Less(t, idle, held, p.Name)
			require.Less(t, held, limit, p.Name)
		}
		if p.Kind != Node {
			continue
		}
		g, found := Find(p.GPU)
		require.True(t, found, p.GPU)
		require.Equal(t, GPU, g.Kind)
		if most := value(p, Nameplate); most > 0 {
			require.Greater(t, most, value(p, GPUs)*value(g, PowerLimit), p.Name)
		}
		if idle := value(p, IdlePower); idle > 0 {
			require.Greater(t, idle, value(p, GPUs)*value(g, IdlePower), p.Name)
			require.Less(t, idle, value(p, BusyPower), p.Name)
		}
	}
	_, found := Find("h100")
	require.False(t, found, "no name that fits several")
	h100, _ := Find("h100-sxm")
	_, known := h100.Figure(Nameplate)
	require.False(t, known, "what is not known is not there")
}

// TestClassesAgree: classes name GPUs of the catalogue, with throughputs relative to one of
// them, and caps that ascend.
func TestClassesAgree(t *testing.T) {
	for _, c := range Classes() {
		own := map[string]float64{}
		for _, r := range c.Throughput {
			g, found := Find(r.GPU)
			require.True(t, found, r.GPU)
			require.Equal(t, GPU, g.Kind)
			own[r.GPU] = r.Value
		}
		require.Len(t, own, len(c.Throughput), "%s: each once", c.Name)
		require.EqualValues(t, 1, own["h100-sxm"], c.Name)
		for i := range c.Caps {
			require.Less(t, c.Caps[i].Draw, 1.0)
			require.Less(t, c.Caps[i].Throughput, 1.0)
			if i > 0 {
				require.Greater(t, c.Caps[i].Draw, c.Caps[i-1].Draw)
				require.Greater(t, c.Caps[i].Throughput, c.Caps[i-1].Throughput)
			}
		}
	}
	_, found := FindClass("bert")
	require.False(t, found)
}
