package synth

import (
	"fmt"
	"math"

	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/traces/synth/internal/param"
)

// LublinClass is the parameters of one class of jobs in the model of
//
//	Uri Lublin and Dror G. Feitelson: The workload on parallel supercomputers:
//	modeling the characteristics of rigid jobs. Journal of Parallel and
//	Distributed Computing 63(11), 2003, pages 1105 to 1122.
//
// Names follow the authors' program. Logarithms of sizes are binary, those of
// spans natural.
type LublinClass struct {
	// Name is written to the qos column; "" leaves it null.
	Name string

	// Sizes. A job is serial with probability SerialProb. Else the logarithm
	// of its size is uniform in [ULow, UMed) with probability UProb and in
	// [UMed, UHi) otherwise, and with probability Pow2Prob of all jobs it is
	// rounded, so that the size is a power of two. UHi is log2 of the cluster
	// less UHiBelow, UMed is UHi less UMedBelow; the authors advise 1.5 to 3.5.
	SerialProb, Pow2Prob float64
	ULow                 float64
	UHiBelow, UMedBelow  float64
	UProb                float64

	// Run times. The logarithm of the seconds is hyper-gamma: of shape A1 and
	// scale B1 with probability p, of A2 and B2 otherwise. p = PA*size + PB,
	// kept within 0 and 1, so that large jobs run longer.
	A1, B1, A2, B2 float64
	PA, PB         float64

	// Arrivals. The logarithm of the seconds between two arrivals in rush
	// hours is gamma of shape AArr*ARAR and scale BArr; ARAR takes the rush
	// hours' rate to that of the whole day. The weights of the half hours of
	// the day are the probabilities of a gamma of shape ANum and scale BNum.
	AArr, BArr, ARAR float64
	ANum, BNum       float64
}

// LublinParams are the parameters of Lublin. Start from DefaultLublin or
// DefaultLublinClasses.
type LublinParams struct {
	// Procs is the size of the cluster, 2 to 1,048,576.
	Procs int32
	// Classes have arrivals independent of each other. The authors give
	// parameters for one class of all jobs, and for batch and interactive ones.
	Classes []LublinClass
	// MaxRuntimeLog and MaxGapLog bound the logarithms of run times and gaps;
	// draws beyond them are made again. The authors' program has 12 (45 hours)
	// and 13 (5 days).
	MaxRuntimeLog, MaxGapLog float64
	// Load scales the gaps so that the expected offered load, requested
	// processor-seconds of true run time by second and processor, is Load; 0
	// leaves the model's own. Single traces deviate, since run times and gaps
	// have heavy tails: by about a tenth in 10,000 jobs.
	Load float64
	// StartHour is the hour of the day at which the trace starts, 0 to 23.
	StartHour int
	// Users is the number of users and UserSkew the exponent of the Zipf law by
	// which a job is one of theirs. The model has no users: both defaults are
	// assumptions.
	Users    int
	UserSkew float64
	// Requests is how users request walltime; the model has no requests.
	Requests Requests
}

// wholeSample is the published fit to all jobs of the logs, for a cluster of
// 128 processors.
var wholeSample = LublinClass{
	SerialProb: 0.244, Pow2Prob: 0.576, ULow: 0.8, UHiBelow: 0, UMedBelow: 2.5, UProb: 0.86,
	A1: 4.2, B1: 0.94, A2: 312, B2: 0.03, PA: -0.0054, PB: 0.78,
	AArr: 10.2303, BArr: 0.4871, ARAR: 1.0225, ANum: 8.1737, BNum: 3.9631,
}

// batchSample and interactiveSample are the published fits to the two classes.
var batchSample = LublinClass{
	Name:       "batch",
	SerialProb: 0.2927, Pow2Prob: 0.6686, ULow: 1.2, UHiBelow: 0, UMedBelow: 2, UProb: 0.875,
	A1: 6.57, B1: 0.823, A2: 639.1, B2: 0.0156, PA: -0.003, PB: 0.6986,
	AArr: 6.0415, BArr: 0.8531, ARAR: 1.0519, ANum: 6.1271, BNum: 5.2740,
}

var interactiveSample = LublinClass{
	Name:       "interactive",
	SerialProb: 0.1541, Pow2Prob: 0.625, ULow: 1, UHiBelow: 1.5, UMedBelow: 2.5, UProb: 0.705,
	A1: 3.8351, B1: 0.6605, A2: 7.073, B2: 0.6856, PA: -0.0118, PB: 0.9156,
	AArr: 6.5510, BArr: 0.6621, ARAR: 0.9797, ANum: 8.9186, BNum: 3.6680,
}

// DefaultLublin is the published model of all jobs, on a cluster of procs
// processors.
func DefaultLublin(procs int32) LublinParams {
	return LublinParams{
		Procs: procs, Classes: []LublinClass{wholeSample}, MaxRuntimeLog: 12, MaxGapLog: 13,
		Users: 64, UserSkew: 1, Requests: defaultRequests(),
	}
}

// DefaultLublinClasses is the published model that tells batch jobs from
// interactive ones.
func DefaultLublinClasses(procs int32) LublinParams {
	p := DefaultLublin(procs)
	p.Classes = []LublinClass{batchSample, interactiveSample}
	return p
}

// maxProcs bounds the cluster: expectations sum over sizes.
const maxProcs = 1 << 20

// Validate names the first parameter that makes no sense.
func (p *LublinParams) Validate() error {
	checks := []param.Check{
		param.That(p.Procs >= 2 && p.Procs <= maxProcs, "Procs", p.Procs, "2 to 1048576"),
		param.That(len(p.Classes) >= 1 && len(p.Classes) <= 16, "number of Classes", len(p.Classes), "1 to 16"),
		param.That(p.MaxRuntimeLog > 0 && p.MaxRuntimeLog <= 20, "MaxRuntimeLog", p.MaxRuntimeLog, "up to 20"),
		param.That(p.MaxGapLog > 0 && p.MaxGapLog <= 20, "MaxGapLog", p.MaxGapLog, "up to 20"),
		param.That(p.Load >= 0 && p.Load <= 1000, "Load", p.Load, "0 to 1000"),
		param.That(p.StartHour >= 0 && p.StartHour <= 23, "StartHour", p.StartHour, "0 to 23"),
		param.That(p.Users >= 1 && p.Users <= 1<<20, "Users", p.Users, "1 to 1048576"),
		param.That(p.UserSkew >= 0 && p.UserSkew <= 10, "UserSkew", p.UserSkew, "0 to 10"),
	}
	for i := range p.Classes {
		checks = append(checks, p.Classes[i].checks(fmt.Sprintf("Classes[%d].", i), p)...)
	}
	longest := model.Duration(libm.Exp(p.MaxRuntimeLog)) * model.Second
	if err := param.FirstWrong("lublin", checks); err != nil {
		return err
	}
	if err := p.Requests.Validate("lublin", longest); err != nil {
		return err
	}
	for i := range p.Classes {
		checks = append(checks, p.Classes[i].drawable(fmt.Sprintf("Classes[%d].", i), p)...)
	}
	return param.FirstWrong("lublin", checks)
}

// drawable says whether the bounds leave enough of each distribution for draws
// to fall inside before long.
func (c *LublinClass) drawable(at string, p *LublinParams) []param.Check {
	inside := func(shape, scale, bound float64, name string) param.Check {
		probability, _ := bounded(shape, scale, bound)
		return param.That(probability >= 0.01, at+name, fmt.Sprintf("within its bound with probability %.3g", probability), "at least 0.01")
	}
	return []param.Check{
		inside(c.A1, c.B1, p.MaxRuntimeLog, "gamma of A1, B1"),
		inside(c.A2, c.B2, p.MaxRuntimeLog, "gamma of A2, B2"),
		inside(c.AArr*c.ARAR, c.BArr, p.MaxGapLog, "gamma of AArr*ARAR, BArr"),
	}
}

func (c *LublinClass) checks(at string, p *LublinParams) []param.Check {
	low, med, hi := c.bounds(p.Procs)
	shape := func(name string, v float64) param.Check { // where the densities that moments integrates are bounded
		return param.That(v >= 1 && v <= 1e5, at+name, v, "1 to 100000")
	}
	scale := func(name string, v float64) param.Check {
		return param.That(v > 0 && v <= 1000, at+name, v, "above 0, up to 1000")
	}
	return []param.Check{
		param.That(c.SerialProb >= 0 && c.SerialProb <= 1, at+"SerialProb", c.SerialProb, "0 to 1"),
		param.That(c.Pow2Prob >= 0 && c.SerialProb+c.Pow2Prob <= 1, at+"Pow2Prob", c.Pow2Prob, "0 to 1 less SerialProb"),
		param.That(c.UProb >= 0 && c.UProb <= 1, at+"UProb", c.UProb, "0 to 1"),
		param.That(low >= 0 && low < med && med < hi, at+"ULow, UMed, UHi", [3]float64{low, med, hi},
			"an ascending row from 0, on this cluster: use a larger cluster or smaller distances"),
		param.That(c.UHiBelow >= 0, at+"UHiBelow", c.UHiBelow, "0 or more"),
		shape("A1", c.A1), scale("B1", c.B1), shape("A2", c.A2), scale("B2", c.B2),
		param.That(!math.IsNaN(c.PA) && !math.IsInf(c.PA, 0), at+"PA", c.PA, "a number"),
		param.That(!math.IsNaN(c.PB) && !math.IsInf(c.PB, 0), at+"PB", c.PB, "a number"),
		shape("AArr*ARAR", c.AArr*c.ARAR), scale("BArr", c.BArr), shape("ANum", c.ANum), scale("BNum", c.BNum),
	}
}

// bounds are ULow, UMed and UHi on a cluster.
func (c *LublinClass) bounds(procs int32) (low, med, hi float64) {
	hi = math.Log2(float64(procs)) - c.UHiBelow
	return c.ULow, hi - c.UMedBelow, hi
}

// largest is the size at which the sizes of a class end.
func (c *LublinClass) largest(procs int32) int32 {
	_, _, hi := c.bounds(procs)
	return int32(min(math.Floor(math.Exp2(hi)+0.5), float64(procs)))
}

// first is the probability that a job of a size has the first of the two
// gammas.
func (c *LublinClass) first(size int32) float64 {
	return min(max(float64(c.PA*float64(size))+c.PB, 0), 1)
}
