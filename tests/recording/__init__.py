"""Record what a checkout of the service answers, as a black box, and compare two recordings.

    python -m tests.recording compare OLD_CHECKOUT NEW_CHECKOUT
    python -m tests.recording record CHECKOUT FILE
    python -m tests.recording compare FILE NEW_CHECKOUT

It uses only what users have: the programs, the command line and HTTP. So it can compare the code before and after a
change of everything inside. Nothing here imports `fieldgate`.
"""
