package transform

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecipeErrors: each wrong step says what is wrong with it.
func TestRecipeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "empty step",
		"windw":                            "unknown step",
		"window begin":                     "want KEY=VALUE",
		"window =3":                        "want KEY=VALUE",
		"window begin=3d begin=4d":         "given twice",
		"window begin>3d":                  "want begin=VALUE",
		"window begin=3":                   "no unit",
		"window begin=-3d":                 "0 or more",
		"window length=1d end=2d":          "both end and length",
		"window colour=red":                "unknown argument",
		"window warm=yes":                  "true, false",
		`window begin="3d`:                 "does not end",
		`window begin="3d"x`:               "leave a space",
		`window be"gin=3d`:                 "does not end",
		"load":                             "to is missing",
		"load to=0":                        "from 0.001 to 1000",
		"load to=1e9":                      "0.8, 4/5 or 80%",
		"load to=1/0":                      "0.8, 4/5 or 80%",
		"load to=0.8 by=magic":             "interarrival, users, runtime",
		"load to=0.8 capacity=0":           "whole number",
		"stretch":                          "by is missing",
		"jitter by=1d seed=-1":             "whole number",
		"jitter by=800d":                   "at most a year",
		"resample":                         "weeks is missing",
		"merge":                            "with is missing",
		"merge with=a,":                    "with is missing",
		"map column=colour to=x":           "column of text",
		"map column=kind to=x":             "does not change",
		"map column=tenant":                "to is missing",
		"map column=tenant to=a take=user": "both to and take",
		"anonymise columns=submit":         "columns of text",
	} {
		_, err := ParseStep(text)
		require.ErrorContains(t, err, want, text)
	}
	_, err := ParseRecipe("window begin=1d\n\nshke by=1s\n")
	require.ErrorContains(t, err, "shke")
	_, err = ParseRecipe("window begin=1d\njitter by")
	require.ErrorContains(t, err, "line 2")
}

// TestStepText: what is printed is read as the same.
func TestStepText(t *testing.T) {
	for _, text := range []string{
		"window begin=30d length=7d warm=true", `filter user="ann b","c" runtime>=1h`, `map column=tenant from="a b" to=""`, `filter name!="a\"b\\"`,
	} {
		s, err := ParseStep(text)
		if text[0] == 'f' && err != nil {
			require.ErrorContains(t, err, "leave a space", "a list is quoted whole")
			continue
		}
		require.NoError(t, err, text)
		again, err := ParseStep(s.String())
		require.NoError(t, err, s.String())
		require.Equal(t, s, again)
	}
}

// FuzzRecipe: no text panics, and a recipe that is read prints as itself.
func FuzzRecipe(f *testing.F) {
	for _, text := range []string{
		"window begin=30d length=7d warm=true", "filter user=a,b runtime>=1h not=true", "map column=tenant from=a to=\"b c\"", "load to=0.8 by=users seed=3",
		"stretch by=1/3 what=arrivals # note", "jitter by=60s seed=7\nresample weeks=3 long=2 feedback=0s", "merge with=a,b", "anonymise key=\"x\\ty\"", "filter a=\"\xff\"",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRecipe(text)
		if err != nil {
			return
		}
		for i := range r {
			again, err := ParseStep(r[i].String())
			require.NoError(t, err, r[i].String())
			require.Equal(t, r[i], again)
		}
	})
}
