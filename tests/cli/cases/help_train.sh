furrow train --help
