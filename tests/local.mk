# Tests. A Check program needs one line, CHECK_TESTS += tests/check_NAME, and the file tests/check_NAME.c
# (more sources: tests_check_NAME_SOURCES = ...). A shell test needs one line, SH_TESTS += tests/NAME.sh.
# Files that tests read and that are not sources go to EXTRA_DIST. How a test is run, its time limit and
# its count: tests/run.sh.
CHECK_TESTS =
SH_TESTS = tests/install.sh tests/launcher.sh tests/layers.sh
SH_TESTS += tests/blas_choice.sh
SH_TESTS += tests/cli.sh
SH_TESTS += tests/health.sh tests/soak.sh
SH_TESTS += tests/predict.sh tests/predict_peers.sh tests/validate.sh
SH_TESTS += tests/spawn.sh tests/emulate.sh tests/replay.sh tests/gloo.sh tests/mpi.sh
SH_TESTS += tests/probe_cli.sh tests/probe_machines.sh
SH_TESTS += tests/trace.sh tests/report.sh
SH_TESTS += tests/compare_live.sh tests/compare.sh tests/history.sh tests/doctor.sh
EXTRA_DIST += tests/saved.sh tests/json_kit.sh tests/page_kit.sh tests/run_kit.sh tests/serve_kit.sh
SH_TESTS += tests/demo.sh tests/demo_sweep.sh
EXTRA_DIST += tests/demo_kit.sh
SH_TESTS += tests/serve.sh tests/peers.sh tests/ssh.sh tests/encrypt.sh tests/private.sh
SH_TESTS += tests/link.sh tests/link_hosts.sh
EXTRA_DIST += tests/link_kit.sh
SH_TESTS += tests/faults.sh tests/cuts.sh tests/frozen.sh tests/frozen_peers.sh tests/leaks.sh tests/leaving.sh tests/small_buffers.sh tests/stalls.sh tests/strangers.sh
EXTRA_DIST += tests/fault_kit.sh
SH_TESTS += tests/pytorch_profile.sh
EXTRA_DIST += tests/net.sh
# reads a value out of a JSON file, for shell tests
check_PROGRAMS += tests/json_at
# reads a trace as a viewer does
check_PROGRAMS += tests/trace_look
# a wire that misbehaves, and strangers, for tests of faults
check_PROGRAMS += tests/proxy tests/knock
if HAVE_CHECK
CHECK_TESTS += tests/check_store tests/check_options tests/check_record
tests_check_options_SOURCES = tests/check_options.c cli/options.c cli/option_rows.c cli/compute.c
tests_check_record_SOURCES = tests/check_record.c cli/record.c cli/judge_node.c cli/judge_steps.c cli/record_arithmetic.c cli/record_health.c cli/record_ranks.c cli/record_steps.c cli/record_timeline.c cli/output.c cli/options.c cli/option_rows.c cli/compute.c cli/progress.c
CHECK_TESTS += tests/check_work_train
tests_check_work_train_SOURCES = tests/check_work_train.c cli/work_train.c cli/record.c cli/judge_node.c cli/judge_steps.c cli/record_arithmetic.c cli/record_health.c cli/record_ranks.c cli/record_steps.c cli/record_timeline.c cli/output.c cli/options.c cli/option_rows.c cli/compute.c cli/progress.c
CHECK_TESTS += tests/check_demo
tests_check_demo_SOURCES = tests/check_demo.c cli/demo_show.c cli/live.c cli/output.c cli/options.c cli/option_rows.c cli/compute.c cli/progress.c
CHECK_TESTS += tests/check_base tests/check_units
CHECK_TESTS += tests/check_ranksum tests/check_shift tests/check_compare
CHECK_TESTS += tests/check_blas_choice tests/check_blas_child
tests_check_blas_choice_SOURCES = tests/check_blas_choice.c tests/blas_machine.c tests/blas_machine.h
tests_check_blas_child_SOURCES = tests/check_blas_child.c tests/blas_machine.c tests/blas_machine.h
CHECK_TESTS += tests/check_batch tests/check_data tests/check_sampler
tests_check_batch_SOURCES = tests/check_batch.c tests/scratch.c tests/scratch.h
tests_check_data_SOURCES = tests/check_data.c tests/scratch.c tests/scratch.h
CHECK_TESTS += tests/check_checkpoint
tests_check_checkpoint_SOURCES = tests/check_checkpoint.c tests/scratch.c tests/scratch.h
# the engine: kernels against the reference, formulas and PyTorch (tests/golden, written by tools/golden.py)
CHECK_TESTS += tests/check_kernels tests/check_operations tests/check_gradients tests/check_net tests/check_step \
	tests/check_models tests/check_allocation
RIG = tests/rig.c tests/rig.h tests/golden.c tests/golden.h tests/kit.c tests/kit.h
tests_check_kernels_SOURCES = tests/check_kernels.c tests/kit.c tests/kit.h
tests_check_operations_SOURCES = tests/check_operations.c tests/kit.c tests/kit.h
tests_check_gradients_SOURCES = tests/check_gradients.c tests/exact.c tests/exact.h tests/kit.c tests/kit.h
tests_check_net_SOURCES = tests/check_net.c $(RIG)
tests_check_step_SOURCES = tests/check_step.c $(RIG)
tests_check_models_SOURCES = tests/check_models.c $(RIG)
tests_check_allocation_SOURCES = tests/check_allocation.c tests/kit.c tests/kit.h
# between ranks
CHECK_TESTS += tests/check_bucket tests/check_frame tests/check_ring tests/check_ring_faults
CHECK_TESTS += tests/check_overlap tests/check_backends
tests_check_backends_SOURCES = tests/check_backends.c tests/ring_kit.c tests/ring_kit.h
CHECK_TESTS += tests/check_stream
tests_check_stream_SOURCES = tests/check_stream.c tests/ring_kit.c tests/ring_kit.h
CHECK_TESTS += tests/check_arithmetic
tests_check_arithmetic_SOURCES = tests/check_arithmetic.c tests/kit.c tests/kit.h
CHECK_TESTS += tests/check_patience tests/check_reduce tests/check_shares
CHECK_TESTS += tests/check_predict tests/check_predict_terms tests/check_predict_source
tests_check_predict_SOURCES = tests/check_predict.c tests/predict_kit.c tests/predict_kit.h
tests_check_predict_terms_SOURCES = tests/check_predict_terms.c tests/predict_kit.c tests/predict_kit.h
tests_check_predict_source_SOURCES = tests/check_predict_source.c cli/predict_source.c
tests_check_reduce_SOURCES = tests/check_reduce.c tests/ring_kit.c tests/ring_kit.h tests/kit.c tests/kit.h
tests_check_overlap_SOURCES = tests/check_overlap.c tests/ring_kit.c tests/ring_kit.h
CHECK_TESTS += tests/check_pacer tests/check_replay
tests_check_replay_SOURCES = tests/check_replay.c cli/compute.c tests/ring_kit.c tests/ring_kit.h tests/room.c tests/room.h
tests_check_pacer_SOURCES = tests/check_pacer.c tests/ring_kit.c tests/ring_kit.h tests/room.c tests/room.h
tests_check_ring_SOURCES = tests/check_ring.c tests/ring_kit.c tests/ring_kit.h
tests_check_ring_faults_SOURCES = tests/check_ring_faults.c tests/ring_kit.c tests/ring_kit.h
CHECK_TESTS += tests/check_throttle
CHECK_TESTS += tests/check_link tests/check_record_link
tests_check_record_link_SOURCES = tests/check_record_link.c tests/tree.c tests/tree.h cli/record_link.c cli/link_end.c cli/output.c \
	cli/options.c cli/option_rows.c cli/compute.c
tests_check_link_SOURCES = tests/check_link.c tests/ring_kit.c tests/ring_kit.h
CHECK_TESTS += tests/check_address tests/check_keys tests/check_session tests/check_tls
tests_check_keys_SOURCES = tests/check_keys.c tests/scratch.c tests/scratch.h
tests_check_session_SOURCES = tests/check_session.c tests/session_kit.c tests/session_kit.h
CHECK_TESTS += tests/check_beat tests/check_clock tests/check_timeline tests/check_trace
tests_check_trace_SOURCES = tests/check_trace.c tests/scratch.c tests/scratch.h
CHECK_TESTS += tests/check_report tests/check_gnuplot
tests_check_report_SOURCES = tests/check_report.c tests/scratch.c tests/scratch.h
tests_check_gnuplot_SOURCES = tests/check_gnuplot.c tests/scratch.c tests/scratch.h
CHECK_TESTS += tests/check_probe tests/check_probe_limits
CHECK_TESTS += tests/check_health tests/check_judge tests/check_drift
tests_check_health_SOURCES = tests/check_health.c tests/tree.c tests/tree.h
tests_check_judge_SOURCES = tests/check_judge.c cli/judge_node.c cli/judge_steps.c
tests_check_probe_SOURCES = tests/check_probe.c tests/tree.c tests/tree.h
tests_check_probe_limits_SOURCES = tests/check_probe_limits.c tests/tree.c tests/tree.h
endif
# Fuzzers without libFuzzer: each replays its corpus and near misses of it.
CHECK_TESTS += tests/check_fuzz_files
tests_check_fuzz_files_SOURCES = tests/fuzz/replay.c tests/fuzz/files.c tests/fuzz/fuzz.h
tests_check_fuzz_files_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"tests/fuzz/corpus-files"'
EXTRA_DIST += tests/fuzz/corpus-files
CHECK_TESTS += tests/check_fuzz_peers
tests_check_fuzz_peers_SOURCES = tests/fuzz/replay.c tests/fuzz/peers.c tests/fuzz/fuzz.h
tests_check_fuzz_peers_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"tests/fuzz/corpus-peers"'
EXTRA_DIST += tests/fuzz/corpus-peers

check_PROGRAMS += $(CHECK_TESTS)
TESTS += $(CHECK_TESTS) $(SH_TESTS)
EXTRA_DIST += $(SH_TESTS) tests/lib.sh tests/run.sh
EXTRA_DIST += tests/fixtures
EXTRA_DIST += tests/golden/char.gold tests/golden/gpt.gold tests/golden/linear.gold tests/golden/mlp.gold

TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh --merge --comments
SH_LOG_DRIVER = $(LOG_DRIVER)
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/run.sh
SH_LOG_COMPILER = $(LOG_COMPILER)
# The built program, the tree it comes from, and folders of its own in place of the user's; automake adds srcdir.
AM_TESTS_ENVIRONMENT = \
	DDPBENCH='$(abs_builddir)/ddpbench'; export DDPBENCH; \
	TOP_SRCDIR='$(abs_top_srcdir)'; export TOP_SRCDIR; \
	for kind in CACHE CONFIG DATA STATE; do \
	    eval "XDG_$${kind}_HOME='$(abs_builddir)/tests/xdg/$$kind'; export XDG_$${kind}_HOME"; \
	done;

clean-local:
	rm -rf tests/xdg
