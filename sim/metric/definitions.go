package metric

import "orrery/scheduler/model"

// Sources of the formulas.
const (
	srcFeitelson = "Feitelson, Rudolph, Schwiegelshohn, Sevcik, Wong: Theory and practice in parallel job scheduling, JSSPP 1997"
	srcMetrics   = "Feitelson, Rudolph: Metrics and benchmarking for parallel job scheduling, JSSPP 1998"
	srcZotkin    = "Zotkin, Keleher: Job-length estimation and performance in backfilling schedulers, HPDC 1999"
	srcSchwieg   = "Schwiegelshohn, Yahyapour: Fairness in parallel job scheduling, Journal of Scheduling 3(5), 2000"
	srcLoss      = "Leung, Sabin, Sadayappan: Parallel job scheduling policies to improve fairness, ICPP Workshops 2010"
	srcJain      = "Jain, Chiu, Hawe: A quantitative measure of fairness, DEC-TR-301, 1984"
	srcOurs      = "defined here"
)

// Edge cases that several metrics share.
const (
	edgeStarted  = "jobs that never started are left out and counted in the note; null without a started job"
	edgeFinished = "over jobs that completed or hit their walltime; others are left out and counted in the note; null without one"
	edgeSlowdown = edgeFinished + "; runtime 0 has no slowdown and is left out too; fixed point 2^-20, rounded half up"
	edgeBounded  = edgeFinished + "; fixed point 2^-20, rounded half up"
	edgeWindow   = "null when the window has no length"
)

var definitions = []definition{
	{Definition{"jobs_submitted", "jobs", Neither, "count of jobs with t in the window", "", "never null", nil}, false, (*reduction).countAll},
	{Definition{"jobs_completed", "jobs", Higher, "of these, ended by themselves", "", "never null", nil}, false, countOf(model.Completed)},
	{Definition{"jobs_timeout", "jobs", Lower, "of these, killed at their walltime", "", "never null", nil}, false, countOf(model.Timeout)},
	{Definition{"jobs_cancelled", "jobs", Neither, "of these, withdrawn before they started", "", "never null", nil}, false, countOf(model.Cancelled)},
	{Definition{"jobs_rejected", "jobs", Neither, "of these, refused at submission", "", "never null", nil}, false, countOf(model.Rejected)},
	{Definition{"jobs_unfinished", "jobs", Lower, "of these, waiting or running when the replay stopped", "", "never null", nil}, false, countOf(model.Pending, model.Running, model.Checkpointing, model.Suspended)},

	{Definition{"wait_mean", "s", Lower | GrowsWithLog | MeanOverJobs, "sum(w) / N", srcMetrics, edgeStarted, nil}, false, (*reduction).waitMean},
	{Definition{"wait_sd", "s", Lower | GrowsWithLog, "sqrt(sum(w^2)/N - (sum(w)/N)^2)", "", edgeStarted + "; of the population, so 0 for one job", nil}, false, (*reduction).waitDeviation},
	{Definition{"wait_p50", "s", Lower | GrowsWithLog, "p50 of w", "", edgeStarted, nil}, false, spanPercentile(qWait, 50)},
	{Definition{"wait_p90", "s", Lower | GrowsWithLog, "p90 of w", "", edgeStarted, nil}, false, spanPercentile(qWait, 90)},
	{Definition{"wait_p95", "s", Lower | GrowsWithLog, "p95 of w", "", edgeStarted, nil}, false, spanPercentile(qWait, 95)},
	{Definition{"wait_p99", "s", Lower | GrowsWithLog, "p99 of w", "", edgeStarted, nil}, false, spanPercentile(qWait, 99)},
	{Definition{"wait_max", "s", Lower | GrowsWithLog, "max(w)", "", edgeStarted, nil}, false, (*reduction).waitMax},
	{Definition{"waited_fraction", "1", Lower | GrowsWithLog | MeanOverJobs, "count(w > 0) / N", "", edgeStarted, nil}, false, (*reduction).waitedFraction},

	{Definition{"turnaround_mean", "s", Lower | GrowsWithLog | MeanOverJobs, "sum(R) / N", srcMetrics, edgeFinished, nil}, false, (*reduction).turnMean},
	{Definition{"turnaround_p50", "s", Lower | GrowsWithLog, "p50 of R", "", edgeFinished, nil}, false, spanPercentile(qTurnaround, 50)},
	{Definition{"turnaround_p90", "s", Lower | GrowsWithLog, "p90 of R", "", edgeFinished, nil}, false, spanPercentile(qTurnaround, 90)},
	{Definition{"turnaround_p95", "s", Lower | GrowsWithLog, "p95 of R", "", edgeFinished, nil}, false, spanPercentile(qTurnaround, 95)},
	{Definition{"turnaround_p99", "s", Lower | GrowsWithLog, "p99 of R", "", edgeFinished, nil}, false, spanPercentile(qTurnaround, 99)},
	{Definition{"turnaround_max", "s", Lower | GrowsWithLog, "max(R)", "", edgeFinished, nil}, false, (*reduction).turnMax},

	{Definition{"slowdown_mean", "1", Lower | GrowsWithLog | MeanOverJobs, "sum(R/r) / N", srcMetrics, edgeSlowdown, nil}, false, (*reduction).slowMean},
	{Definition{"slowdown_p50", "1", Lower | GrowsWithLog, "p50 of R/r", "", edgeSlowdown, nil}, false, ratioPercentile(qSlowdown, 50)},
	{Definition{"slowdown_p95", "1", Lower | GrowsWithLog, "p95 of R/r", "", edgeSlowdown, nil}, false, ratioPercentile(qSlowdown, 95)},
	{Definition{"slowdown_p99", "1", Lower | GrowsWithLog, "p99 of R/r", "", edgeSlowdown, nil}, false, ratioPercentile(qSlowdown, 99)},
	{Definition{"slowdown_max", "1", Lower | GrowsWithLog, "max(R/r)", "", edgeSlowdown, nil}, false, (*reduction).slowMax},

	{Definition{"bounded_slowdown_mean", "1", Lower | GrowsWithLog | MeanOverJobs, "sum(max(1, R/max(r, 10 s))) / N", srcFeitelson, edgeBounded, nil}, false, (*reduction).boundedMean},
	{Definition{"bounded_slowdown_p50", "1", Lower | GrowsWithLog, "p50 of max(1, R/max(r, 10 s))", "", edgeBounded, nil}, false, ratioPercentile(qBounded, 50)},
	{Definition{"bounded_slowdown_p95", "1", Lower | GrowsWithLog, "p95 of max(1, R/max(r, 10 s))", "", edgeBounded, nil}, false, ratioPercentile(qBounded, 95)},
	{Definition{"bounded_slowdown_p99", "1", Lower | GrowsWithLog, "p99 of max(1, R/max(r, 10 s))", "", edgeBounded, nil}, false, ratioPercentile(qBounded, 99)},
	{Definition{"bounded_slowdown_max", "1", Lower | GrowsWithLog, "max(max(1, R/max(r, 10 s)))", "", edgeBounded, nil}, false, (*reduction).boundedMax},
	{Definition{"per_processor_bounded_slowdown_mean", "1", Lower | GrowsWithLog | MeanOverJobs, "sum(max(1, R/(n*max(r, 10 s)))) / N", srcZotkin, edgeBounded, nil}, false, (*reduction).perProcMean},
	{Definition{"per_processor_bounded_slowdown_max", "1", Lower | GrowsWithLog, "max(max(1, R/(n*max(r, 10 s))))", srcZotkin, edgeBounded, nil}, false, (*reduction).perProcMax},

	{Definition{"area_weighted_wait", "s", Lower | GrowsWithLog, "sum(n*r*w) / sum(n*r)", srcSchwieg, edgeFinished + "; null when all runtimes are 0", nil}, false, (*reduction).weightedWait},
	{Definition{"area_weighted_response", "s", Lower | GrowsWithLog, "sum(n*r*R) / sum(n*r)", srcSchwieg, edgeFinished + "; null when all runtimes are 0", nil}, false, (*reduction).weightedResponse},

	{Definition{"makespan", "s", Lower, "max(e) - min(t), over jobs that ran and all jobs", srcMetrics, "null when nothing ran; window all only", nil}, true, (*reduction).makespan},
	{Definition{"window_begin", "s", Neither, "a, from the epoch of the trace", "", "null when the window has no length", nil}, false, (*reduction).windowBegin},
	{Definition{"window_length", "s", Neither, "b - a", "", edgeWindow, nil}, false, (*reduction).windowLength},
	{Definition{"throughput", "jobs/h", Higher, "count of finished jobs with a <= e <= b, / (b - a)", srcMetrics, edgeWindow + "; finished is completed or killed at the walltime, whenever submitted", nil}, false, (*reduction).throughput},
	{Definition{"utilisation", "1", Higher, "integral of B over [a, b] / (P*(b - a))", srcMetrics, edgeWindow + "; allocated, whether or not they compute", nil}, false, (*reduction).utilisation},
	{Definition{"loss_of_capacity", "1", Lower, "integral of (P - B) over the instants of [a, b] at which the smallest waiting request is at most P - B, / (P*(b - a))", srcLoss, edgeWindow + "; fit is by count of units, not by placement", nil}, false, (*reduction).lossOfCapacity},
	{Definition{"queue_length_mean", "jobs", Lower | GrowsWithLog, "integral of q over [a, b] / (b - a)", "", edgeWindow, nil}, false, (*reduction).queueMean},
	{Definition{"queue_length_max", "jobs", Lower | GrowsWithLog, "max of q over [a, b]", "", edgeWindow + "; states that last no time do not count", nil}, false, (*reduction).queueMax},
	{Definition{"queue_growth", "clusters", Neither | GrowsWithLog, "(mean of Q in the last quarter of [a, b] - mean of Q in the first) / P", srcOurs, edgeWindow + "; from the time bins, within a bin Q is taken as level; window steady only, null in all", nil}, false, (*reduction).queueGrowth},

	{Definition{"jain_wait", "1", Higher | GrowsWithLog, "(sum x)^2 / (m*sum(x^2)), x the mean wait of each of the m users", srcJain, "over started jobs with a user, others are counted in the note; 1 when all means are 0; null without a user", nil}, false, (*reduction).jainWait},
	{Definition{"jain_bounded_slowdown", "1", Higher | GrowsWithLog, "(sum x)^2 / (m*sum(x^2)), x the mean bounded slowdown of each of the m users", srcJain, "over finished jobs with a user, others are counted in the note; null without a user", nil}, false, (*reduction).jainBounded},
}
