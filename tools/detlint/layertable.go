package main

// layerTable lists the files of long packages from the top to the bottom, and how many
// arrows may go from one to another above it. A new file goes above the files that it uses
// and below those that use it. A limit is lowered when a change takes arrows away.
var layerTable = []layered{
	{"profiles", 40, `
		classes clusterdiff agentsfile jsonschema lintexperiment mapping values held scenario hardware lintcluster experiment powercap
		resolvesets lint calibration gate settings clusterfile storage encode services kinds diff idleweights scalingmachines
		failures network scaling locate scalingpolicy load weights resolve check decode retired schema cluster amount nodes
		scalar profile slurmkeys problem`},
	{"scheduler/site", 12, `
		unsatisfiable site standing whynote why follow plan shed pass seek observe look usage rule conservative inquiry inorder
		ascoded foresight bestjob whyvictims turn depends behind preempt unmet margins alike reactive blocked ranges reclaim
		proposals publish easy resize needs signals gate victims clashes rank trial room view score tres avoid core preempts
		lend holders accounts config jobs queuestate mode prices lookout confinable kinds equivalence nodes held classes`},
	{"traces", 12, `
		validate record memory classes badrows access survey stream dependencies scan bundle peaks attributes writer measure
		cursor rows reader rules tablerules foreign plausible table hash columns schema seal report source reserved meta errors
		row`},
	{"sim/tune", 41, `
		headline page changes pagesense explain weigh verdict report around loads seek variance sense shares decide finalists
		bounds payers candidate windows vary space services figure tune runs goal`},
	{"reports/plot", 2, `
		supply tradeoff fidelity sidebyside shares sensitivity readings moves hours slowdown history gantt raster fits energy columns
		cluster site waits rows power state candidates heatmap measure axis figure canvas words`},
	{"sim/world", 14, `
		site proposals prologues arrivals warm silence exits checkpoints breakdowns drift hardware endings agenda transfers
		services nodes base config ledger lifecycle plain meter`},
	{"sim/record", 23, `
		arrow export attempts groups series vclusterseries names writer power jobs decisions lookup reader log parts scan
		manifest decode table schema footer compress record nodes document errors`},
	{"sim/metric", 24, `
		number parts measure table site groups services definitions jain evaluate compute metric cells reasons overload window
		ranker selection ratio holdings series bins power sense size sum`},
	{"traces/transform", 18, `
		filter jitter event anonymise merge window mapping resample load stretch document recipe transform demand tables params
		heap ratio account`},
	{"sim/sweep", 8, `
		template status slurm remote group_unix group_other group_notlinux group_linux doctor local commitline claimer commit
		journal outcome claims specs sweep study host`},
	{"autoscale/conform", 11, `
		neon hpacontroller models lattice hpareplicas neonagent hpa neonplugin keda lcm maestro lcmstorm kpa conform required
		units`},
	{"sim/search", 11, `
		nsga2 search aim bayes merit warp pareto design cmaes fit gp goal minimise directions sobol move chart space`},
	{"sim/plan", 5, `
		workflows unheeded select ignored unstated memory horizon scenario site services world hardware prepare cluster
		nodesfile route policies slurm spec failures`},
	{"sim/watch", 7, `
		noslip plain record watcher preempt power states grant resize gone forecast slip promises accounts order ledger amounts
		aside system flights watch`},
	{"capture/calibrate", 13, `
		clocks delays caps nodes io minutes merge figures failures divided observe calibrate`},
	{"hwmodel/fit", 3, `
		activity bandwidth delays censored lifetime load node straight readings rest states dependent placement cap clock powers
		types ratios estimate restart fit`},
}
