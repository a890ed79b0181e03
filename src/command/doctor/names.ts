import type { Config } from '../../config/config.ts'
import { hostNames } from '../../config/host_names.ts'
import { ANY_HOST } from '../../http/request/host.ts'
import { type Finding, okFinding, warningFinding } from '../../lib/finding.ts'
import { isLoopback } from '../../lib/loopback.ts'

const CHECK = 'names'

/** Examines the host names that requests may use, and whether a name is probably missing. */
export function examineNames(config: Config): Finding {
  const names = hostNames(config)
  if (names.includes(ANY_HOST)) {
    return warningFinding(
      CHECK,
      'answers under any name (ALLOWED_HOSTS)',
      'any site can point a name of its own here and read the answers (DNS rebinding)',
    )
  }
  const found = `answers under addresses, ${['localhost', ...names].join(', ')}`
  if (names.length > 0 || isLoopback(config.host)) return okFinding(CHECK, found)
  return warningFinding(CHECK, found, 'requests for any other name are refused: set PUBLIC_URL or ALLOWED_HOSTS')
}
