package profiles

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"orrery/scheduler/model"
)

// Amount is a bound or a tolerance of a metric as people write it: 400, 2%, 30m,
// 12 jobs, 5 kWh. Which of these a metric takes depends on its unit; see In.
type Amount struct {
	Number float64 // spans in seconds, percentages in percent
	Unit   string  // "", % or s (a span), else the word behind the number
}

// withUnit is a number and the word behind it.
var withUnit = regexp.MustCompile(`^([-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?) *([A-Za-zµ/·]+)$`)

// ParseAmount reads an amount.
func ParseAmount(text string) (Amount, error) {
	if x, ok := plainNumber(text); ok {
		return Amount{Number: x}, nil
	}
	if part, ok := strings.CutSuffix(text, "%"); ok {
		if x, ok := plainNumber(strings.TrimSpace(part)); ok {
			return Amount{x, "%"}, nil
		}
	}
	if d, err := model.ParseDuration(text); err == nil && d != model.Forever {
		return Amount{d.Seconds(), "s"}, nil
	}
	if m := withUnit.FindStringSubmatch(text); m != nil {
		if x, ok := plainNumber(m[1]); ok {
			return Amount{x, m[2]}, nil
		}
	}
	return Amount{}, fmt.Errorf("found %q, want a number with the unit of the metric, such as 30m, 2%% or 12 jobs", text)
}

func plainNumber(text string) (float64, bool) {
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) && !strings.ContainsAny(text, "xXpP_+")
}

// String is the amount as ParseAmount reads it.
func (a Amount) String() string {
	switch a.Unit {
	case "":
		return strconv.FormatFloat(a.Number, 'f', -1, 64)
	case "%":
		return strconv.FormatFloat(a.Number, 'f', -1, 64) + "%"
	case "s":
		return formatSpan(model.Duration(math.Round(float64(a.Number * float64(model.Second)))))
	}
	return strconv.FormatFloat(a.Number, 'f', -1, 64) + " " + a.Unit
}

// In is the amount in the unit of a metric, as docs/METRICS.md has it. A metric
// without a unit (1) takes a bare number or a percentage. Every other one wants
// its unit written: times as spans, 30m or 3d. 0 needs none.
func (a Amount) In(unit string) (float64, error) {
	x, ok := a.Number, false
	switch {
	case a.Unit == "" && (a.Number == 0 || dimensionless(unit)):
		ok = true
	case a.Unit == "%" && dimensionless(unit):
		x, ok = a.Number/100, true
	case a.Unit == "s" && unit == "s":
		ok = true
	case a.Unit == "s" && unit == "h":
		x, ok = a.Number/3600, true
	case a.Unit == unit:
		ok = true
	case unit == "kWh" && a.Unit == "MWh":
		x, ok = float64(a.Number*1e3), true
	case unit == "kWh" && a.Unit == "Wh":
		x, ok = a.Number/1e3, true
	}
	if !ok {
		return 0, fmt.Errorf("found %s, want %s", a, a.wanted(unit))
	}
	return x, nil
}

// AmountOf is a value in the unit of a metric, the contrary of In.
func AmountOf(x float64, unit string) Amount {
	switch {
	case dimensionless(unit):
		return Amount{Number: x}
	case unit == "h":
		return Amount{float64(x * 3600), "s"}
	}
	return Amount{x, unit}
}

func dimensionless(unit string) bool { return unit == "" || unit == "1" }

// amountIn is the value of a key, which is not none.
func amountIn(v reflect.Value) Amount {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v.Interface().(Amount)
}

// bare is the amount without heed to its unit, percentages as parts of 1.
func (a Amount) bare() float64 {
	if a.Unit == "%" {
		return a.Number / 100
	}
	return a.Number
}

// wanted says what to write instead.
func (a Amount) wanted(unit string) string {
	n := strconv.FormatFloat(a.Number, 'f', -1, 64)
	if a.Unit != "" {
		n = "3"
	}
	switch {
	case dimensionless(unit):
		return "a number without a unit, or a percentage: " + n + " or " + n + "%"
	case unit == "s":
		return "a span of time: " + n + "s or " + n + "d, for example"
	case unit == "h":
		return "a span of time: " + n + "h, for example"
	}
	return "a number with its unit: " + n + " " + unit
}

// Say is a value of a metric with its unit, for people: spans as 30m9s to the
// millisecond, shares in percent, else six digits and the unit.
func Say(x float64, unit string, share bool) string {
	switch {
	case unit == "s" && math.Abs(x) < 1e12:
		d := model.Duration(math.Round(float64(x*1e3))) * model.Millisecond
		if d == 0 && x != 0 {
			d = model.Duration(math.Round(float64(x * float64(model.Second))))
		}
		return formatSpan(d)
	case share:
		return sixDigits(float64(100*x)) + " %"
	case dimensionless(unit):
		return sixDigits(x)
	}
	return sixDigits(x) + " " + unit
}

// sixDigits is a number with six significant digits, whole numbers whole.
func sixDigits(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}
