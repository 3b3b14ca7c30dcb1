package libm

import "math"

// Coefficients of rational functions in 1/x**2, the constant first: of x below 1/0.35, and of larger ones.
var (
	erfRA = []float64{-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01, -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02, -8.12874355063065934246e+01, -9.81432934416914548592e+00}
	erfSA = []float64{1, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02, 6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02, 6.57024977031928170135e+00, -6.04244152148580987438e-02}
	erfRB = []float64{-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01, -1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03, -4.83519191608651397019e+02}
	erfSB = []float64{1, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03, 3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02, -2.24409524465858183362e+01}
)

// Erfc is the complementary error function, as math.Erfc.
func Erfc(x float64) float64 {
	size := math.Abs(x)
	if !(size >= 1.25 && size < 28) || x < -6 {
		return math.Erfc(x) //detlint:processor it calls no exponential for these
	}
	s := 1 / float64(size*size)
	r := 0.0
	if size < 1/0.35 {
		r = horner(erfRA, s) / horner(erfSA, s)
	} else {
		r = horner(erfRB, s) / horner(erfSB, s)
	}
	z := math.Float64frombits(math.Float64bits(size) & 0xffffffff00000000)
	r = float64(Exp(-float64(z*z)-0.5625) * Exp(float64((z-size)*(z+size))+r))
	if x < 0 {
		return 2 - r/size
	}
	return r / size
}

// horner is a polynomial, the constant first.
func horner(c []float64, x float64) float64 {
	y := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		y = c[i] + float64(x*y)
	}
	return y
}
