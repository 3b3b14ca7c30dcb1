package main

// checkProcessor forbids what differs between processors of one architecture.
func checkProcessor(p *pass) {
	const mend = "its last bit depends on the processor: take internal/libm"
	p.banNames(mend, "math", "Exp", "Pow", "Erf", "Erfc", "Gamma", "Sinh", "Cosh", "Tanh")
	p.banNames(mend, "math/rand", "NormFloat64", "ExpFloat64")
	p.banNames(mend, "gonum.org/v1/gonum/stat", "GeometricMean", "HarmonicMean", "Moment", "MomentAbout", "BivariateMoment")
	p.banNames(mend, "gonum.org/v1/gonum/floats", "LogSumExp", "LogSpan")
	p.banNames(mend, "gonum.org/v1/gonum/mat", "Det")
	p.banImports(mend, "math/cmplx", "gonum.org/v1/gonum/mathext", "gonum.org/v1/gonum/stat/distuv", "gonum.org/v1/gonum/optimize")
}
