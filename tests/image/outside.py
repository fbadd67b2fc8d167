"""Tests that say nothing of a helper in a container: with a stand-in here, they test that, or the engine."""

OUTSIDE = {
    "end the helper by its process id, which is the stand-in's here": (
        "test_the_helper_told_to_end_ends_the_command",
        "test_an_idle_worker_that_was_killed_is_replaced",
        "test_a_session_told_to_end_ends_what_is_under_way",
        "test_a_helper_that_was_killed_leaves_no_run_in_the_way",
    ),
    "give the helper streams or signals of the caller's, which do not pass through an engine": (
        "test_signals_descriptors_and_session_are_fresh",
        "test_a_session_whose_reader_is_gone_ends_what_is_under_way",
        "test_without_a_place_for_the_envelope_the_exit_status_is_not_0",
        "test_a_stdout_that_does_not_block_loses_nothing",
        "test_a_stdout_that_was_closed_gives_an_exit_status",
        "test_by_hand_a_full_stdout_is_an_error_in_words",
    ),
    "read the helper's stderr, which a session keeps": (
        "test_nothing_but_the_envelope_reaches_stdout",
        "test_one_entry_that_can_not_be_used_is_told_and_the_others_wired",
        "test_a_token_file_that_can_not_be_used_does_not_stop_a_command",
    ),
    "measure or look into the helper's own process": ("test_get_imports_only_what_it_uses",),
    "name the helper by its path, which is another there": (
        "test_without_a_token_file_github_is_wired",
        "test_hosts_past_the_bound_are_told_and_the_others_wired",
        "test_the_helper_serves_git_with_two_lines_of_configuration_and_nothing_else",
    ),
}
"""By the reason, names of tests. A stand-in is told in tests/image/inside.py."""
