import { editDistance, findNearest } from '../lib/text/nearest.ts'
import { LISTED_NAMES, RPC_URL_LISTED } from './variables.ts'

/** A variable of the environment that is not read, and the one that was probably meant. */
export interface MisspelledVariable {
  readonly name: string
  readonly nearest: string
}

/** Maximum number that is reported, and maximum length of a name. */
const REPORTED_MAX = 10
const NAME_CHARS_MAX = 64
/** From this length on a name is far enough from those of other programs for one and for two slips. */
const SLIP_CHARS = { one: 4, two: 8 }
const RPC_URL = /^(?:RPC_?URLS?(?:_.*)?|RPC_\d+)$/i

/**
 * Finds variables that are set and not read, but are named almost like one that is: `PROT`, `RPC_URL`. Variables of other
 * programs are none of them; values, which may be secret, are not looked at.
 */
export function findMisspelledVariables(
  environment: Readonly<Record<string, string | undefined>>,
  isKnown: (name: string) => boolean,
): readonly MisspelledVariable[] {
  return Object.entries(environment)
    .filter(([name, value]) => value?.trim() && name.length <= NAME_CHARS_MAX && !isKnown(name))
    .flatMap(([name]) => {
      const nearest = RPC_URL.test(name)
        ? RPC_URL_LISTED
        : findNearest(LISTED_NAMES, (listed) => measureMisspelling(name, listed))
      return nearest === undefined ? [] : [{ name, nearest }]
    })
    .slice(0, REPORTED_MAX)
}

/**
 * One letter too many, too few or swapped, ignoring case; two such in a long name, none in a short one. A letter in place
 * of another counts as two: `POST` is not `PORT`.
 */
function measureMisspelling(name: string, listed: string): number | undefined {
  const distanceMax = listed.length < SLIP_CHARS.one ? 0 : listed.length < SLIP_CHARS.two ? 1 : 2
  if (Math.abs(name.length - listed.length) > distanceMax) return undefined
  const distance = editDistance(name.toUpperCase(), listed, {
    replace: (from, to) => (from === to ? 0 : 2),
    costMax: distanceMax,
  })
  return distance <= distanceMax ? distance : undefined
}
