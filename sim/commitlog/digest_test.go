package commitlog

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler"
	"orrery/scheduler/drive"
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
			v.SetUint(*n % 7)
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

// A round and a pass count with their instant, unless nothing comes of them.
func TestRoundsAndPassesAreHashed(t *testing.T) {
	of := func(tell func(d *Digest)) string {
		var d Digest
		tell(&d)
		return d.String()
	}
	plan := func(n int) *scheduler.Plan { return &scheduler.Plan{Proposals: make([]model.Proposal, n)} }
	prints := map[string]bool{}
	for _, tell := range []func(d *Digest){
		func(*Digest) {},
		func(d *Digest) { d.Round(1, drive.Stepped, 1) },
		func(d *Digest) { d.Round(2, drive.Stepped, 1) },
		func(d *Digest) { d.Round(1, drive.Stepped, 2) },
		func(d *Digest) { d.Round(1, drive.Observed, 1) },
		func(d *Digest) { d.Passed(1, plan(1)) },
		func(d *Digest) { d.Passed(2, plan(1)) },
		func(d *Digest) { d.Passed(1, plan(2)) },
	} {
		print := of(tell)
		require.NotContains(t, prints, print)
		prints[print] = true
	}
	require.Equal(t, of(func(*Digest) {}), of(func(d *Digest) {
		d.Round(1, drive.Asked, 0)
		d.Passed(1, plan(0))
	}))
}

// Facts are the same where what they point at is equal, wherever it is.
func TestSameIsByContent(t *testing.T) {
	var a, b model.Fact
	n := uint64(0)
	filled(reflect.ValueOf(&a).Elem(), &n)
	n = 0
	filled(reflect.ValueOf(&b).Elem(), &n)
	require.NotSame(t, a.Constraint, b.Constraint)
	require.True(t, SameFact(&a, &b))
	b.Constraint.Memory++
	require.False(t, SameFact(&a, &b))
	require.True(t, SameProposal(&model.Proposal{Seq: 1}, &model.Proposal{Seq: 1}))
	require.False(t, SameProposal(&model.Proposal{Seq: 1}, &model.Proposal{Seq: 2}))
}
