"""A regression test of memory and network for ReFrame 4: measures a sweep with apexmap and reports each of its points.

    reframe -C SITE.py -c packaging/reframe/apexmap_check.py -r --performance-report
    reframe ... -S sweep=stream -S column=bytes_per_second
    reframe ... -S card=/opt/apexmap/card.toml -S least=0.1

The numbers are the medians of `apexmap query`. With a machine card, the reference of a point is its bound: the test fails
if a median is below the fraction `least` of the bound, or more than 10 % above it.
"""

import json
import os
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import run_after, run_before, sanity_function, variable

UNITS = {'bytes_per_second': 'B/s', 'bytes_per_second_per_rank': 'B/s', 'operations_per_second': '1/s', 'seconds': 's'}


@rfm.simple_test
class ApexmapCheck(rfm.RunOnlyRegressionTest):
    sweep = variable(str, value='quickstart')  # the name of a ready sweep, or a file
    column = variable(str, value='bytes_per_second_per_rank')  # of `apexmap query --select`
    card = variable(str, value='')  # a machine card of this node, from `apexmap calibrate --card`
    least = variable(float, value=0.0)  # with a card: the smallest accepted fraction of the bound
    nodes = variable(int, value=1)
    out = variable(str, value='result')  # folder of the result; outside of the stage folder, a repeated test continues it
    arguments = variable(str, value='')  # further ones of `apexmap run`, such as '--worker /opt/apexmap/bin/apexmap-worker'

    descr = 'Rates of memory and network, measured with apexmap'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'apexmap'
    exclusive_access = True
    num_tasks_per_node = 1

    @run_after('init')
    def set_command(self):
        self.num_tasks = self.nodes
        # ReFrame runs the test in its stage folder.
        sweep = os.path.abspath(self.sweep) if os.path.isfile(self.sweep) else self.sweep
        card = ['--card', os.path.abspath(self.card)] if self.card else []
        command = ['run', sweep, '--out', self.out, '--no-report', *card, *shlex.split(self.arguments)]
        self.executable_opts = [shlex.quote(word) for word in command]
        columns = [self.column] + ['share_of_bound'] * bool(card)
        query = f'apexmap query {shlex.quote(self.out)} --select {",".join(columns)} --format json'
        self.postrun_cmds = [
            'echo "apexmap run: exit code $?"',
            f'{query} >medians.json',
            'echo "apexmap query: exit code $?"',
        ]

    @run_before('run')
    def start_the_driver_once(self):
        # apexmap starts the ranks itself: with srun or mpirun, if the sweep is over MPI.
        self.job.launcher = getlauncher('local')()
        if self.current_partition.scheduler.registered_name in ('slurm', 'squeue'):
            self.job.options += ['--mem=0']  # all memory of the nodes

    @sanity_function
    def is_complete(self):
        failures = sn.extractall(r'^apexmap \w+: exit code [^0].*$', self.stdout)
        return sn.assert_false(failures, '{0}: see rfm_job.err')

    @run_before('performance')
    def report_medians(self):
        if self.is_dry_run():
            return
        with open(f'{self.stagedir}/medians.json') as file:
            groups = json.load(file)
        unit = UNITS.get(self.column, '')
        references = {}
        for group in groups:
            name = ','.join(f'{key}={value}' for key, value in group['by'].items()) or self.column
            median = group['values'][self.column]['median']
            self.perf_variables[name] = sn.make_performance_function(lambda median=median: median, unit)
            share = group['values'].get('share_of_bound', {}).get('median')
            if share:
                references[name] = (median / share, self.least - 1, 0.1, unit)
        if references:
            self.reference = {'*': references}
