package commitlog

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/model"
)

// filled makes every field of a type something else than zero: slices have two elements.
func filled(v reflect.Value, n *uint64) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			filled(v.Index(i), n)
		}
	case reflect.Bool:
		v.SetBool(*n%2 == 0)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	default:
		if v.CanInt() {
			v.SetInt(int64(*n % 7))
		} else {
			v.SetUint(max(2, *n%7)) // a set that ends in nothing is written like a shorter one
		}
	}
}

// eachLeaf flips every field below v in turn, and puts it back: numbers by their lowest
// and their highest bit, slices by their length.
func eachLeaf(v reflect.Value, path string, see func(path string)) {
	keep := reflect.New(v.Type()).Elem()
	keep.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		eachLeaf(v.Elem(), path, see)
		v.SetZero()
		see(path + " = nil")
	case reflect.Struct:
		for i := range v.NumField() {
			eachLeaf(v.Field(i), path+"."+v.Type().Field(i).Name, see)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachLeaf(v.Index(i), fmt.Sprintf("%s[%d]", path, i), see)
		}
		v.SetLen(1)
		see(path + " shorter")
	case reflect.Bool:
		v.SetBool(!v.Bool())
		see(path)
	case reflect.String:
		v.SetString(v.String() + "x")
		see(path)
	default:
		for _, bit := range []int{0, v.Type().Bits() - 1} {
			if v.CanInt() {
				v.SetInt(v.Int() ^ int64(-1)<<bit)
			} else {
				v.SetUint((v.Uint() ^ 1<<bit) & (^uint64(0) >> (64 - v.Type().Bits())))
			}
			see(fmt.Sprintf("%s, bit %d", path, bit))
			v.Set(keep)
		}
	}
	v.Set(keep)
}

// Every field of every fact and proposal, and of what they point at, changes the
// fingerprint: a new field that is not hashed fails here.
func TestEveryFieldIsHashed(t *testing.T) {
	for what, x := range map[string]struct {
		value reflect.Value
		hash  func(d *Digest, v reflect.Value)
	}{
		"fact":     {reflect.ValueOf(&model.Fact{}).Elem(), func(d *Digest, v reflect.Value) { d.Fact(v.Addr().Interface().(*model.Fact)) }},
		"promise":  {reflect.ValueOf(&scheduler.Promise{}).Elem(), func(d *Digest, v reflect.Value) { d.Promise(v.Addr().Interface().(*scheduler.Promise)) }},
		"proposal": {reflect.ValueOf(&model.Proposal{}).Elem(), func(d *Digest, v reflect.Value) { d.Proposal(v.Addr().Interface().(*model.Proposal)) }},
	} {
		of := func() string {
			var d Digest
			x.hash(&d, x.value)
			return d.String()
		}
		seen := map[string]string{of(): what + " of zeros"}
		note := func(path string) {
			print := of()
			require.NotContains(t, seen, print, "%s gives the fingerprint of %s", path, seen[print])
			seen[print] = path
		}
		n := uint64(0)
		filled(x.value, &n)
		note(what)
		full := of()
		eachLeaf(x.value, what, note)
		require.Equal(t, full, of())
		require.Greater(t, len(seen), 30)
	}
}

// Instants count, and empty rounds and passes do not.
func TestInstantsAreHashed(t *testing.T) {
	fact, proposal := &model.Fact{Kind: model.FactEnded}, &model.Proposal{}
	plan := func(n int) *scheduler.Plan { return &scheduler.Plan{Proposals: make([]model.Proposal, n)} }
	of := func(told, empty, passed model.Time) string {
		var d Digest
		d.Round(told, 2)
		d.Fact(fact)
		d.Fact(fact)
		d.Round(empty, 0)
		d.Passed(empty, plan(0))
		d.Passed(passed, plan(1))
		d.Proposal(proposal)
		return d.String()
	}
	require.Equal(t, of(1, 2, 3), of(1, 9, 3))
	require.NotEqual(t, of(1, 2, 3), of(2, 2, 3))
	require.NotEqual(t, of(1, 2, 3), of(1, 2, 4))
	require.NotEqual(t, of(3, 3, 3), of(1, 2, 3))
}

// Facts are the same where what they point at is equal, wherever it is.
func TestSameIsByContent(t *testing.T) {
	var a, b model.Fact
	n := uint64(0)
	filled(reflect.ValueOf(&a).Elem(), &n)
	n = 0
	filled(reflect.ValueOf(&b).Elem(), &n)
	require.NotSame(t, a.Constraint, b.Constraint)
	require.True(t, sameFact(&a, &b))
	b.Constraint.Memory++
	require.False(t, sameFact(&a, &b))
	require.True(t, sameProposal(&model.Proposal{Seq: 1}, &model.Proposal{Seq: 1}))
	require.False(t, sameProposal(&model.Proposal{Seq: 1}, &model.Proposal{Seq: 2}))
}
