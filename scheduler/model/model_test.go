package model

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]Duration{
		"90s": 90 * Second, "1h30m": 90 * Minute, "250ms": 250 * Millisecond, "1us": Microsecond,
		"02:30": 150 * Second, "02:30:00": 150 * Minute, "1-02:03:04": Day + 2*Hour + 3*Minute + 4*Second,
		"1-02": Day + 2*Hour, "1-02:03": Day + 2*Hour + 3*Minute, "125-00:00:00": 125 * Day,
		"3d": 3 * Day, "2d03:15:07.25": 2*Day + 3*Hour + 15*Minute + 7*Second + 250*Millisecond, "2d6h": 2*Day + 6*Hour,
		"0s": 0, " 5s ": 5 * Second, "-5s": -5 * Second, "UNLIMITED": Forever, "infinite": Forever,
	} {
		got, err := ParseDuration(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for in, why := range map[string]string{
		"": "empty", "90": "no unit", "1.5": "not a duration", "1:2:3:4": "not a duration", "1-": "not a duration", "x": "not a duration",
		"1ns": "finer than a microsecond", "1:-2": "not a duration", "9999999999999d": "too long", "02:30.5.5": "not a duration",
		"NaN": "not a duration", "1-02:03:04:05": "not a duration", "00:00:01.1234567": "not a duration",
		"2000000000d": "too long", "2000000000-00:00:00": "too long", "1000000000d24h": "too long",
	} {
		_, err := ParseDuration(in)
		require.ErrorContains(t, err, why, in)
	}
}

// What String prints, ParseDuration reads.
func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(-int64(400*Day), int64(4000*Day)).Draw(t, "d"))
		got, err := ParseDuration(d.String())
		require.NoError(t, err, d.String())
		require.Equal(t, d, got, d.String())
	})
}

func TestTimeSaturates(t *testing.T) {
	require.Equal(t, Never, Never.Add(-Second))
	require.Equal(t, Never, Time(5).Add(Forever))
	require.Equal(t, Never, (Never - 1).Add(2))
	require.Equal(t, Time(3), Time(5).Add(-2))
	require.Equal(t, Forever, Never.Sub(5))
	require.Equal(t, "never", Never.String())
	require.Equal(t, "-", AbsentTime.String())
	require.Equal(t, "2d03:15:07.25", Time(2*Day+3*Hour+15*Minute+7*Second+250*Millisecond).String())
	require.Equal(t, "-00:00:01", (-Second).String())
}

// A job leaves a terminal state never, unless it failed and is requeued, and gets
// from pending to every other.
func TestTransitions(t *testing.T) {
	reached := map[JobState]bool{Pending: true}
	for grown := true; grown; {
		grown = false
		for from := Pending; from <= Failed; from++ {
			for to := Pending; to <= Failed; to++ {
				if !from.CanBecome(to) {
					continue
				}
				require.True(t, !from.Terminal() || from == Failed && to == Pending, "%s leads to %s", from, to)
				require.NotEqual(t, from, to)
				if reached[from] && !reached[to] {
					reached[to], grown = true, true
				}
			}
		}
	}
	require.Len(t, reached, int(Failed)+1)
	require.False(t, Running.CanBecome(Suspended), "suspended without a checkpoint")
	for _, from := range []JobState{Pending, Running, Suspended} {
		require.False(t, from.Terminal(), from)
	}
}

func TestClusterValidate(t *testing.T) {
	require.NoError(t, UniformCluster(3, 4, false).Validate())
	require.ErrorContains(t, Cluster{}.Validate(), "no nodes")
	require.ErrorContains(t, Cluster{Units: []int32{1, 0}}.Validate(), "node 1 has 0 units")
	require.ErrorContains(t, Cluster{Units: []int32{4, 2}, Whole: true}.Validate(), "must be equal")
	require.EqualValues(t, 12, UniformCluster(3, 4, true).Total())
	require.True(t, UniformCluster(3, 1, false).Whole, "a node of one unit is always whole")
}
