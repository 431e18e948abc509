ddpbench_SOURCES = cli/main.c cli/early.c cli/commands.h \
	cli/child.c cli/child.h cli/compare_live.c cli/compare_live.h cli/cmd_compare.c cli/cmd_completion.c cli/cmd_doctor.c cli/cmd_history.c cli/doctor_host.c cli/doctor_host.h \
	cli/cmd_info.c cli/cmd_probe.c \
	cli/cmd_peers.c cli/cmd_serve.c \
	cli/cmd_predict.c \
	cli/predict_answer.c cli/predict_answer.h cli/predict_ask.c cli/predict_ask.h cli/predict_run.c cli/predict_run.h cli/predict_score.c cli/predict_score.h \
	cli/predict_source.c cli/predict_source.h cli/predict_whatif.c cli/predict_whatif.h \
	cli/cmd_link.c cli/link_end.c cli/link_end.h cli/link_load.c cli/link_load.h cli/record_link.c cli/record_link.h \
	cli/node.c cli/node.h \
	cli/peers.c cli/peers.h \
	cli/work.h cli/work_check.c cli/work_link.c cli/work_train.c \
	cli/cmd_run.c cli/cmd_report.c cli/cmd_soak.c cli/cmd_trace.c cli/run_kind.h \
	cli/deliver.c cli/deliver.h cli/job.h cli/job_judge.c cli/job_deliver.c \
	cli/cmd_demo.c cli/demo.h cli/demo_ask.c cli/demo_batch.c cli/demo_bucket.c cli/demo_child.c cli/demo_child.h cli/demo_part.c \
	cli/demo_predict.c cli/demo_show.c cli/demo_show.h cli/demo_straggler.c cli/demo_wifi.c \
	cli/launched.c cli/launched.h \
	cli/live.c cli/live.h \
	cli/compute.c cli/compute.h \
	cli/options.c cli/options.h cli/option_rows.c cli/option_rows.h \
	cli/output.c cli/output.h \
	cli/progress.c cli/progress.h \
	cli/ranks.c cli/ranks.h \
	cli/record.c cli/record.h cli/record_parts.h cli/judge.h cli/judge_node.c cli/judge_steps.c cli/record_arithmetic.c cli/record_health.c cli/record_ranks.c cli/record_steps.c cli/record_timeline.c
# made before anything else by make and make check, but not by make ddpbench
cli/output.$(OBJEXT) cli/cmd_report.$(OBJEXT): version.h
