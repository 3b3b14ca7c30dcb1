package transform

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
)

// filter keeps the jobs of which all conditions hold, or with not=true the
// others.
type filter struct {
	conditions []condition
	not        bool
}

// condition is about one column. Text columns take = and != with a list of
// values; a null is the empty one. The others also take < <= > >=, which no null
// meets.
type condition struct {
	field  traces.JobField
	op     string
	texts  []string
	values []int64 // in the units of the column; doubles as their order
	text   string
}

func newFilter(p *params) step {
	f := filter{not: p.truth("not", false)}
	for _, a := range p.step.Args {
		if a.Key == "not" {
			continue
		}
		c, err := conditionOf(a)
		if err != nil {
			p.fail("%w", err)
			break
		}
		p.used = append(p.used, a.Key)
		f.conditions = append(f.conditions, c)
	}
	if len(f.conditions) == 0 {
		p.fail("no condition: give for example user=alice,bob or runtime>=1h")
	}
	return f
}

func conditionOf(a Arg) (condition, error) {
	field, ok := traces.JobFieldOf(a.Key)
	if !ok {
		return condition{}, fmt.Errorf("the jobs table has no column %q", a.Key)
	}
	c := condition{field: field, op: a.Op, text: a.Key + a.Op + a.Value}
	text := field.Column().Type == traces.String
	if text && a.Op != "=" && a.Op != "!=" {
		return c, fmt.Errorf("%s: text has no order, want = or !=", c.text)
	}
	for _, v := range strings.Split(a.Value, ",") {
		if text {
			c.texts = append(c.texts, v)
			continue
		}
		n, err := valueOf(field, v)
		if err != nil {
			return c, fmt.Errorf("%s: %w", c.text, err)
		}
		c.values = append(c.values, n)
	}
	if !text && len(c.values) > 1 && a.Op != "=" && a.Op != "!=" {
		return c, fmt.Errorf("%s: want one value", c.text)
	}
	return c, nil
}

// null is the value of a null in condition.values.
const null = math.MinInt64

// valueOf reads a value of a column that is no text.
func valueOf(field traces.JobField, s string) (int64, error) {
	col := field.Column()
	switch {
	case s == "":
		return null, nil
	case field.Span() || col.Type == traces.Timestamp:
		d, err := model.ParseDuration(s)
		return int64(d), err
	case col.Type == traces.Bool:
		switch s {
		case "true":
			return 1, nil
		case "false":
			return 0, nil
		}
		return 0, fmt.Errorf("want true or false")
	case col.Type == traces.Double:
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(x) {
			return 0, fmt.Errorf("want a number")
		}
		return ordinal(x), nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n == null {
		return 0, fmt.Errorf("want a whole number")
	}
	return n, nil
}

// ordinal maps doubles to whole numbers in the same order.
func ordinal(x float64) int64 {
	n := int64(math.Float64bits(x + 0)) // -0 becomes 0
	if n < 0 {
		return math.MinInt64 - n + 1
	}
	return n + 1
}

func (c *condition) holds(j *traces.Job) bool {
	if c.texts != nil {
		return slices.Contains(c.texts, c.field.Text(j)) == (c.op == "=")
	}
	n, ok := c.field.Number(j)
	if ok && c.field.Column().Type == traces.Double {
		x, _ := c.field.Real(j)
		n = ordinal(x)
	}
	if !ok {
		n = null
	}
	switch c.op {
	case "=":
		return slices.Contains(c.values, n)
	case "!=":
		return !slices.Contains(c.values, n)
	case "<":
		return ok && n < c.values[0]
	case "<=":
		return ok && n <= c.values[0]
	case ">":
		return ok && n > c.values[0]
	}
	return ok && n >= c.values[0]
}

func (f filter) apply(in *Set, a *Account, _ Opener) (*Set, error) {
	if err := in.needsJobs("filter"); err != nil {
		return nil, err
	}
	out := *in
	out.size = 0
	out.Rows = in.edit(a, func(j *traces.Job) bool {
		failed := slices.IndexFunc(f.conditions, func(c condition) bool { return !c.holds(j) })
		if (failed < 0) != f.not {
			return true
		}
		rule := "all conditions hold"
		if failed >= 0 {
			rule = "not " + f.conditions[failed].text
		}
		a.drop(rule, j.ID)
		return false
	})
	return &out, nil
}
