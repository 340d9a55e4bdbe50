"""Ctrl-C while a call runs, in a process of its own."""

import subprocess
import sys
import textwrap

# A thread sends the signal when the process has worked for 0.3 s since the call began. Time is processor time, of which a
# loaded machine needs no more. Calls are repeated until one is stopped: what a signal finds between two of them (its
# traceback ends in this program) is not counted.
REPEATED = """
import os, signal, threading, time

def interrupt(began):
    while time.process_time() - began < 0.3:
        time.sleep(0.01)
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

sent, stopped = [], None
while not stopped:
    thread = threading.Thread(target=interrupt, args=(time.process_time(),))
    try:
        thread.start()
        while True:
            {call}
    except KeyboardInterrupt as error:
        if error.__traceback__.tb_next:
            stopped = ["stopped", time.process_time() - sent[-1] < 5, *getattr(error, "__notes__", [])]
    thread.join()
print(*stopped, flush=True)
"""


def run_interrupted(setup: str, call: str, after: str = "") -> list[str]:
    """Runs setup, then call until Ctrl-C has stopped it, then after. Returns the lines that it printed: the first is
    "stopped True" if the process has worked for less than 5 s since the signal (so a call that is not stopped has to take
    longer), and the notes of the exception."""
    program = textwrap.dedent(setup) + REPEATED.format(call=call) + textwrap.dedent(after)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()
