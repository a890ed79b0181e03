/** Endings of addresses that no protocol uses as its own name, unlike "finance", "fi" or "network". */
const COMMON_ENDINGS: ReadonlySet<string> = new Set(
  (
    'com net org io info xyz site online top app live club vip pro gift gifts claims events event click website space ' +
    'tech store shop win lol fun biz me cc co ru cn us gg ly cfd sbs icu bond example test'
  ).split(' '),
)
/** Words that make a host a lure, with any ending. */
const LURES = ['claim', 'airdrop', 'giveaway']
/** What points at a host from before it: words with a space between, marks with or without. */
const POINTING_WORDS: ReadonlySet<string> = new Set('at on via see from go to join check visit'.split(' '))
const POINTING_MARKS = ':@>→⇒➜'

/** Letters and digits, and what may stand between them in an address. */
const RUN = /[\p{L}\p{N}][\p{L}\p{N}_.-]*/gu
const LABEL = /^[a-z0-9-]{1,63}$/
const ENDING = /^[a-z]{2,24}$/

/** The hosts in a text: a word, a dot and a word, which a browser would try to open. */
interface HostsFound {
  readonly hasHost: boolean
  /** A host has an ending that is hardly ever a protocol's own name. */
  readonly hasCommonHost: boolean
  /** A host is a link: it has a path or "www.", something points at it, it contains a lure, or it is the whole text. */
  readonly hasLink: boolean
  /** The text without its hosts. */
  readonly rest: string
}

/** Finds hosts in a text in lower case with single spaces. */
export function findHosts(text: string): HostsFound {
  const found = { hasHost: false, hasCommonHost: false, hasLink: false }
  if (!text.includes('.')) return { ...found, rest: text }
  const runs = [...text.matchAll(RUN)]
  const rest: string[] = []
  let restFrom = 0
  let before = { word: '', end: -1 }
  for (const { 0: run, index: start } of runs) {
    const word = withoutTail(run)
    const parts = word.split('.')
    const { hostEnd, hasCommonHost, endsCommon, isLuring } = hostIn(parts)
    const [end, hasHost] = [start + word.length, hostEnd > 0]
    const isPointedAt = hasMarkBefore(text, start) || (POINTING_WORDS.has(before.word) && before.end + 1 === start)
    const isAlone = endsCommon && runs.length === 1
    const hasPath = endsCommon && text[end] === '/'
    found.hasHost ||= hasHost
    found.hasCommonHost ||= hasCommonHost
    found.hasLink ||= isLuring || isAlone || hasPath || (hasCommonHost && isPointedAt)
    if (hasHost) {
      rest.push(text.slice(restFrom, start), ...parts.slice(hostEnd))
      restFrom = end
    }
    before = { word: parts.at(-1) ?? '', end }
  }
  return { ...found, rest: [...rest, text.slice(restFrom)].join(' ') }
}

/** Finds hosts in the parts of a run between its dots, and the end of the last host, 0 without a host. */
function hostIn(parts: readonly string[]) {
  let hostEnd = 0
  let [hasCommonHost, endsCommon, isLuring, sawLure] = [false, false, false, false]
  for (const [index, part] of parts.entries()) {
    const next = parts[index + 1]
    if (next === undefined) break
    sawLure ||= LURES.some((lure) => part.includes(lure))
    const isHost = isLabel(part) && ENDING.test(next)
    endsCommon = isHost && COMMON_ENDINGS.has(next)
    if (isHost) hostEnd = index + 2
    hasCommonHost ||= endsCommon
    isLuring ||= (sawLure && ENDING.test(next)) || (part === 'www' && /^[a-z0-9]/.test(next))
  }
  return { hostEnd, hasCommonHost, endsCommon, isLuring }
}

function isLabel(part: string): boolean {
  return LABEL.test(part) && !part.startsWith('-') && !part.endsWith('-')
}

/** Dots and the like at the end of a run belong to the sentence. */
function withoutTail(run: string): string {
  let end = run.length
  while ('_.-'.includes(run.charAt(end - 1))) end--
  return run.slice(0, end)
}

/** Whether a pointing mark stands before `start`, with or without a space between. */
function hasMarkBefore(text: string, start: number): boolean {
  const mark = text.charAt(text.charAt(start - 1) === ' ' ? start - 2 : start - 1)
  return mark !== '' && POINTING_MARKS.includes(mark)
}
