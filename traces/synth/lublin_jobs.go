package synth

import (
	"math"

	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
)

// Streams of the draws of Lublin. The entity of a draw is the number of the
// job within its class, with the class in the upper half.
var (
	streamGap     = draw.StreamOf("synth.lublin.gap")
	streamSize    = draw.StreamOf("synth.lublin.size")
	streamRuntime = draw.StreamOf("synth.lublin.runtime")
	streamRequest = draw.StreamOf("synth.lublin.request")
	streamUser    = draw.StreamOf("synth.lublin.user")
)

// Lublin is a workload of n jobs by the model of Lublin and Feitelson. The
// first k jobs of a longer workload are those of one of k jobs.
func Lublin(p LublinParams, n int64, seed uint64) (*Workload, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	users := numbered(p.Users)
	zipf := draw.NewZipf(p.Users, p.UserSkew)
	stretch := p.stretch()
	return New("lublin", n, seed, p, Content{MaxProcs: p.Procs, Begin: func() func(*traces.Job) {
		g := &lublin{p: &p, seed: seed, users: users, zipf: zipf}
		g.start(stretch)
		return g.next
	}})
}

// lublin makes the rows of one iteration.
type lublin struct {
	p       *LublinParams
	seed    uint64
	users   []string
	zipf    *draw.Zipf
	classes []lublinClass
	jobs    int64
}

// lublinClass is where one class stands.
type lublinClass struct {
	arrivals
	submit model.Time // of the class's next job
}

func (g *lublin) source(stream draw.Stream, class int, n uint64) draw.Source {
	return draw.New(g.seed, stream, uint64(class)<<32|n, 0)
}

func (g *lublin) start(stretch float64) {
	g.classes = make([]lublinClass, len(g.p.Classes))
	for i := range g.classes {
		c := &g.p.Classes[i]
		gap := func(n uint64) float64 {
			s := g.source(streamGap, i, n)
			for {
				if x := s.Gamma(c.AArr*c.ARAR, c.BArr); x <= g.p.MaxGapLog {
					return libm.Exp(x) * stretch
				}
			}
		}
		g.classes[i].arrivals = newArrivals(c.DailyCycle(), g.p.StartHour, gap)
		g.classes[i].submit = g.classes[i].arrivals.next()
	}
}

// next makes the job that arrives first; at one instant that of the first
// class.
func (g *lublin) next(j *traces.Job) {
	class := 0
	for i := range g.classes {
		if g.classes[i].submit < g.classes[class].submit {
			class = i
		}
	}
	c, params := &g.classes[class], &g.p.Classes[class]
	n := c.n - 1 // of the job whose submission is known
	g.jobs++
	size := g.source(streamSize, class, n)
	procs := params.Size(g.p.Procs, &size)
	run := g.source(streamRuntime, class, n)
	runtime := params.Runtime(procs, g.p.MaxRuntimeLog, &run)
	request := g.source(streamRequest, class, n)
	pick := g.source(streamUser, class, n)
	user := g.zipf.Rank(&pick)
	*j = traces.Job{
		ID: g.jobs, Kind: "bounded", User: g.users[user], QOS: params.Name,
		Submit: c.submit, Runtime: traces.Some(runtime), ProcsRequested: traces.Some(procs),
	}
	if walltime, ok := g.p.Requests.Request(runtime, &request); ok {
		j.Walltime = traces.Some(walltime)
	}
	c.submit = c.arrivals.next()
}

// Size draws the number of processors of a job on a cluster of procs.
func (c *LublinClass) Size(procs int32, s *draw.Source) int32 {
	u := s.Float64()
	if u < c.SerialProb {
		return 1
	}
	low, med, hi := c.bounds(procs)
	x := 0.0
	if s.Bool(c.UProb) {
		x = s.Uniform(low, med)
	} else {
		x = s.Uniform(med, hi)
	}
	if u < c.SerialProb+c.Pow2Prob {
		x = math.Floor(x + 0.5)
	}
	return min(int32(math.Floor(math.Exp2(x)+0.5)), c.largest(procs))
}

// Runtime draws the run time of a job of a number of processors, in whole seconds rounded
// down. Draws whose logarithm is above maxLog are made again.
func (c *LublinClass) Runtime(size int32, maxLog float64, s *draw.Source) model.Duration {
	for {
		shape, scale := c.A1, c.B1
		if !s.Bool(c.first(size)) {
			shape, scale = c.A2, c.B2
		}
		if x := s.Gamma(shape, scale); x <= maxLog {
			return model.Duration(libm.Exp(x)) * model.Second
		}
	}
}
