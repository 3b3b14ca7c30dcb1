package plot

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

const hourUS = 3600 * secondUS

// sampleLoads is a week with a quiet weekend and one jam.
func sampleLoads() []Load {
	var loads []Load
	for i := range 7 * 24 * 12 {
		h := float64(i) / 12
		l := Load{StartUS: int64(i) * 300 * secondUS, WidthUS: 300 * secondUS, Busy: 0.55 + 0.3*math.Sin(h/24*2*math.Pi)}
		if h > 60 && h < 90 {
			l.Busy = 0.98
			l.Queued = 40 * math.Sin((h-60)/30*math.Pi)
		}
		l.QueuedMax = math.Ceil(l.Queued * 1.4)
		loads = append(loads, l)
	}
	return loads
}

func sampleWaits(scale float64, n int) *Waits {
	rng := rand.New(rand.NewPCG(1, 2))
	w := &Waits{}
	for range n {
		if rng.Float64() < 0.4 {
			w.Add(0)
			continue
		}
		w.Add(int64(scale * secondUS * math.Exp(rng.NormFloat64()*2+6)))
	}
	w.Absent = 12
	return w
}

func sampleSlowdowns() *Slowdowns {
	rng := rand.New(rand.NewPCG(3, 4))
	s := &Slowdowns{}
	for range 5000 {
		procs := int32(1) << rng.IntN(8)
		wait := int64(float64(procs) * 60 * secondUS * math.Exp(rng.NormFloat64()*2))
		procs -= rng.Int32N(procs/2 + 1)
		run := int64(600 * secondUS * math.Exp(rng.NormFloat64()))
		s.Add(procs, wait+run, run)
	}
	return s
}

func ones(n int) []int32 { return slices.Repeat([]int32{1}, n) }

// sampleGantt packs n jobs on 64 nodes.
func sampleGantt(t *testing.T, n int) (*Raster, []Bar) {
	rng := rand.New(rand.NewPCG(5, 6))
	free := make([]int64, 64)
	var bars []Bar
	end := int64(0)
	for j := range n {
		w := int32(1) << rng.IntN(5)
		lo := rng.Int32N(64 - w + 1)
		start := slices.Max(free[lo : lo+w])
		stop := start + int64(rng.ExpFloat64()*4*hourUS)
		for k := lo; k < lo+w; k++ {
			free[k] = stop
		}
		end = max(end, stop)
		bars = append(bars, Bar{int32(j), start, stop, lo, lo + w - 1})
	}
	r, err := NewRaster(Window{0, end}, ones(64), GanttCols, GanttRows)
	require.NoError(t, err)
	for _, b := range bars {
		require.NoError(t, r.Add(b.StartUS, b.EndUS, b.Lo, b.Hi, 1))
	}
	return r, bars
}

func allFigures(t *testing.T) []*Figure {
	clock := Clock{EpochUS: 828_000_000 * secondUS, Known: true}
	few, bars := sampleGantt(t, 400)
	many, _ := sampleGantt(t, 20000)
	dense := Gantt(many, nil, 20000, Clock{})
	dense.Name = "gantt-dense"
	both := WaitCDF(Named{Name: "easy", Waits: sampleWaits(1, 4000)}, Named{Name: "conservative", Waits: sampleWaits(0.5, 4000)})
	both.Name = "wait-cdf-both"
	return []*Figure{
		State(sampleLoads(), "processors", clock, Window{12 * hourUS, 150 * hourUS}, ShownUntil(0, 6*24*hourUS, 7*24*hourUS)),
		WaitCDF(Named{Name: "easy", Waits: sampleWaits(1, 4000)}), both,
		WaitDifference(Named{Name: "easy", Waits: sampleWaits(1, 4000)}, Named{Name: "conservative", Waits: sampleWaits(0.5, 4000)}),
		SlowdownBySize(sampleSlowdowns()),
		Gantt(few, bars, int64(len(bars)), clock), dense,
	}
}

// TestFigures draws every figure twice: the bytes agree, the PNG decodes and
// is not blank. With ORRERY_LOOK=dir the files are kept there for the eye.
func TestFigures(t *testing.T) {
	checkFigures(t, allFigures(t), allFigures(t))
}

func checkFigures(t *testing.T, first, second []*Figure) {
	for i, f := range first {
		t.Run(f.Name, func(t *testing.T) {
			var svg, svg2, raw, raw2 bytes.Buffer
			require.NoError(t, f.WriteSVG(&svg))
			require.NoError(t, second[i].WriteSVG(&svg2))
			require.True(t, bytes.Equal(svg.Bytes(), svg2.Bytes()), "SVG bytes")
			require.NotEmpty(t, f.Alt())
			require.Contains(t, svg.String(), "<svg")
			if strings.Contains(svg.String(), "<image") {
				require.Contains(t, svg.String(), `<image preserveAspectRatio="none"`, "the raster fills its axes")
				require.Contains(t, svg.String(), "data:image/png;base64,")
			}
			if testing.Short() {
				return // rasterising text takes most of the time
			}
			require.NoError(t, f.WritePNG(&raw))
			require.NoError(t, second[i].WritePNG(&raw2))
			require.True(t, bytes.Equal(raw.Bytes(), raw2.Bytes()), "PNG bytes")
			if dir := os.Getenv("ORRERY_LOOK"); dir != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name+".svg"), svg.Bytes(), 0o644))
				require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name+".png"), raw.Bytes(), 0o644))
			}
			img, err := png.Decode(&raw)
			require.NoError(t, err)
			require.Equal(t, 1440, img.Bounds().Dx())
			require.Greater(t, distinctColors(img), 8)
		})
	}
}

func distinctColors(img image.Image) int {
	seen := map[[3]uint32]bool{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += 3 {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += 3 {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}

func TestFiguresOfNothing(t *testing.T) {
	r, err := NewRaster(Window{0, 10}, ones(1), 5, 5)
	require.NoError(t, err)
	for _, f := range []*Figure{
		State(nil, "nodes", Clock{}, Window{}, Shown{}), WaitCDF(Named{Name: "a", Waits: &Waits{}}), SlowdownBySize(&Slowdowns{}), Gantt(r, nil, 0, Clock{}),
		WaitDifference(Named{Name: "a", Waits: &Waits{}}, Named{Name: "b", Waits: &Waits{}}),
	} {
		require.NoError(t, f.WriteSVG(&bytes.Buffer{}), f.Name)
	}
}

// TestRasterIsExact compares the raster with adding up every pixel by hand.
func TestRasterIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "nodes")
		span := rapid.Int64Range(1, 200).Draw(t, "span")
		r, err := NewRaster(Window{100, 100 + span}, ones(n), rapid.IntRange(1, 40).Draw(t, "cols"), rapid.IntRange(1, 40).Draw(t, "rows"))
		require.NoError(t, err)
		naive := make([][]int64, r.Rows)
		for y := range naive {
			naive[y] = make([]int64, r.Cols)
		}
		for range rapid.IntRange(0, 8).Draw(t, "bars") {
			a := rapid.Int64Range(50, 320).Draw(t, "start")
			b := a + rapid.Int64Range(0, 150).Draw(t, "len")
			lo := rapid.IntRange(0, n-1).Draw(t, "lo")
			hi := rapid.IntRange(lo, n-1).Draw(t, "hi")
			units := rapid.Int32Range(1, 5).Draw(t, "units")
			require.NoError(t, r.Add(a, b, int32(lo), int32(hi), units))
			for us := max(a, 100); us < min(b, 100+span); us++ {
				for k := lo; k <= hi; k++ {
					naive[k/int(r.RowNodes)][(us-100)/r.ColUS] += int64(units)
				}
			}
		}
		r.Finish()
		for y := range naive {
			for x := range naive[y] {
				require.Equal(t, naive[y][x], r.UnitTime(x, y), "pixel %d,%d", x, y)
			}
		}
	})
}

// TestWorkDoesNotGrowWithTheRectangle counts what adding costs: at most sixteen
// additions for a raster, however large the rectangle, and no allocation.
func TestWorkDoesNotGrowWithTheRectangle(t *testing.T) {
	for _, c := range [][4]int64{{0, 1, 0, 0}, {3, 99_997, 1, 900}, {0, 100_000, 0, 999}} {
		r, err := NewRaster(Window{0, 100_000}, ones(1000), 500, 300)
		require.NoError(t, err)
		require.NoError(t, r.Add(c[0], c[1], int32(c[2]), int32(c[3]), 1))
		touched := 0
		for _, v := range r.sum {
			if v != 0 {
				touched++
			}
		}
		require.LessOrEqual(t, touched, 16)
	}
	r, err := NewRaster(Window{0, 100_000}, ones(1000), 500, 300)
	require.NoError(t, err)
	w, s := &Waits{}, &Slowdowns{}
	s.Add(3, 0, 0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		_ = r.Add(7, 77_777, 5, 700, 2)
		w.Add(12_345_678)
		s.Add(4, 12_345_678, 99_999)
	}))
}

func TestRasterRefusesUnknownNodes(t *testing.T) {
	r, err := NewRaster(Window{0, 10}, ones(4), 5, 5)
	require.NoError(t, err)
	require.ErrorContains(t, r.Add(0, 1, 2, 4, 1), "not among the 4 nodes")
	_, err = NewRaster(Window{}, ones(4), 5, 5)
	require.Error(t, err)
}

// TestWaitsAreExactAtEdges checks the distribution against counting.
func TestWaitsAreExactAtEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waits := rapid.SliceOfN(rapid.Int64Range(0, 90*24*hourUS), 1, 60).Draw(t, "waits")
		w := &Waits{}
		for _, us := range waits {
			w.Add(us)
		}
		for i, s := range w.shares() {
			n := 0
			for _, us := range waits {
				if us <= waitEdges[i] {
					n++
				}
			}
			require.Equal(t, float64(n)/float64(len(waits)), s)
		}
		require.GreaterOrEqual(t, w.most()*secondUS, float64(slices.Max(waits)))
	})
	require.True(t, slices.IsSorted(waitEdges))
	require.Len(t, waitEdges, len((&Waits{}).bins))
}

func TestSlowdownQuantiles(t *testing.T) {
	s := &Slowdowns{}
	s.Add(1, 100*secondUS, 100*secondUS) // 1
	s.Add(1, 200*secondUS, 100*secondUS) // 2, whether it waited or was slowed
	s.Add(1, 100*secondUS, 5*secondUS)   // 10: the bound of ten seconds
	s.Add(3, secondUS, secondUS)         // class 3-4
	c := s.classes[0]
	require.EqualValues(t, 3, c.count)
	require.Equal(t, 1.0, c.quantile(0.05))
	require.InEpsilon(t, 2, c.quantile(0.5), 0.003)
	require.InEpsilon(t, 10, c.quantile(0.95), 0.003)
	require.EqualValues(t, 1, s.classes[2].count)
	boxes, jobs := s.boxes()
	require.Equal(t, "3–4\nn = 1", boxes[1].label)
	require.EqualValues(t, 4, jobs)
}

func TestTimeLabels(t *testing.T) {
	known := Clock{EpochUS: 1_704_067_200 * secondUS, Known: true} // 2024-01-01
	day := 86400.0
	for _, c := range []struct {
		name   string
		clock  Clock
		lo, hi float64
		want   []string
	}{
		{"a week", known, 0, 6 * day, []string{"1 Jan\n2024", "2 Jan", "3 Jan", "4 Jan", "5 Jan", "6 Jan", "7 Jan"}},
		{"six hours", known, 3600, 7 * 3600, []string{"01:00\n1 Jan 2024", "02:00", "03:00", "04:00", "05:00", "06:00", "07:00"}},
		{"two years", known, 0, 700 * day, []string{"Jan\n2024", "Apr", "Jul", "Oct", "Jan\n2025", "Apr", "Jul", "Oct"}},
		{"no date, days", Clock{}, 0, 40 * day, []string{"0", "5", "10", "15", "20", "25", "30", "35", "40"}},
		{"no date, hours", Clock{}, 0, 10 * 3600, []string{"0", "2", "4", "6", "8", "10"}},
	} {
		var got []string
		for _, tick := range c.clock.ticks(c.lo, c.hi, labelsWanted) {
			got = append(got, tick.Label)
		}
		require.Equal(t, c.want, got, c.name)
	}
	require.Equal(t, "time since the start of the log (days)", Clock{}.label(40*day))
}

func TestSpelling(t *testing.T) {
	for sec, want := range map[float64]string{0: "0", 0.5: "0.5 s", 25: "25 s", 200: "3.3 min", 7200: "2.0 h", 86400 * 12: "12 d"} {
		require.Equal(t, want, Span(sec))
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 28481: "28,481", 1234567: "1,234,567", -1234: "-1,234"} {
		require.Equal(t, want, Count(n))
	}
}

func TestReducedLoadsKeepTheMean(t *testing.T) {
	loads := sampleLoads()
	var a, b, wide float64
	for _, l := range loads {
		a += l.Busy * float64(l.WidthUS)
	}
	reduced := reduceLoads(loads, 100)
	require.LessOrEqual(t, len(reduced), 100)
	for _, l := range reduced {
		b += l.Busy * float64(l.WidthUS)
		wide += float64(l.WidthUS)
	}
	require.InEpsilon(t, a, b, 1e-12)
	require.Equal(t, float64(len(loads))*300*secondUS, wide)
}
