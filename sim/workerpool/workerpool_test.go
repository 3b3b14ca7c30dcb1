package workerpool_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/sim/workerpool"
)

// TestEach: every piece is done once, whatever the number of workers.
func TestEach(t *testing.T) {
	for _, workers := range []int{-1, 1, 3, 100} {
		var made atomic.Int32
		told, out := 0, make([]int, 50)
		failed, err := workerpool.Each(context.Background(), len(out), workers, func(done int) {
			require.Equal(t, told+1, done)
			told = done
		}, func() func(context.Context, int) error {
			made.Add(1)
			return func(_ context.Context, i int) error { out[i]++; return nil }
		})
		require.NoError(t, err)
		require.Equal(t, -1, failed)
		require.Equal(t, 50, told)
		require.EqualValues(t, min(max(workers, 1), 50), made.Load())
		for _, n := range out {
			require.Equal(t, 1, n)
		}
	}
	_, err := workerpool.Each(context.Background(), 0, 3, nil, nil)
	require.NoError(t, err)
}

// TestFirstFailure: the error is that of the lowest piece, though a later one fails
// before it by the clock; what is behind that is stopped, what is before it is not.
func TestFirstFailure(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		for range 20 {
			var begun atomic.Int32
			var before atomic.Bool
			failed, err := workerpool.Each(context.Background(), 1000, workers, nil, func() func(context.Context, int) error {
				return func(ctx context.Context, i int) error {
					begun.Add(1)
					switch {
					case i == 2:
						time.Sleep(time.Millisecond)
						before.Store(ctx.Err() == nil)
						return nil
					case i == 3:
						time.Sleep(2 * time.Millisecond)
						return errors.New("three")
					case i == 4:
						return errors.New("four")
					case i > 4:
						<-ctx.Done()
						return ctx.Err()
					}
					return nil
				}
			})
			require.Equal(t, 3, failed)
			require.EqualError(t, err, "three")
			require.True(t, before.Load())
			require.LessOrEqual(t, begun.Load(), int32(4+workers))
		}
	}
}

// TestCancelled: the error of the context is no failure of a piece.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	failed, err := workerpool.Each(ctx, 100, 3, nil, func() func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			if i == 10 {
				cancel()
			}
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("piece %d: %w", i, err)
			}
			return nil
		}
	})
	require.Equal(t, -1, failed)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, "context canceled")
}
