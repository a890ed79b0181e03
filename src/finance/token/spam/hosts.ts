/** Endings of addresses that protocols do not use in their names, unlike "finance", "fi" or "network". */
const COMMON_ENDINGS: ReadonlySet<string> = new Set(
  (
    'com net org io info xyz site online top app live club vip pro gift gifts claims events event click website space ' +
    'tech store shop win lol fun biz me cc co ru cn us gg ly cfd sbs icu bond example test'
  ).split(' '),
)
/** Words that make a host a lure, with any ending. */
const LURES = ['claim', 'airdrop', 'giveaway']
/** Words (followed by a space) and marks (with or without one) that point at the host after them. */
const POINTING_WORDS: ReadonlySet<string> = new Set('at on via see from go to join check visit'.split(' '))
const POINTING_MARKS = ':@>→⇒➜'

/** A run of letters and digits, with the characters allowed between them in an address. */
const RUN = /[\p{L}\p{N}][\p{L}\p{N}_.-]*/gu
const LABEL = /^[a-z0-9-]{1,63}$/
const ENDING = /^[a-z]{2,24}$/

/** The hosts in a text. A host is a word, a dot and a word, which a browser would try to open. */
interface HostMatches {
  readonly hasHost: boolean
  /** True if a host has an ending that is rarely part of a protocol's name. */
  readonly hasCommonHost: boolean
  /** True if a host is a link: it has a path, "www.", a pointer before it or a lure in it, or marks alone around it. */
  readonly hasLink: boolean
  /** The text without its hosts. */
  readonly textWithoutHosts: string
}

/** Finds hosts in a text in lower case with single spaces. */
export function findHosts(text: string): HostMatches {
  const flags = { hasHost: false, hasCommonHost: false, hasLink: false }
  if (!text.includes('.')) return { ...flags, textWithoutHosts: text }
  const runs = [...text.matchAll(RUN)]
  const parts: string[] = []
  let copiedTo = 0
  let previous = { word: '', end: -1 }
  for (const { 0: run, index: start } of runs) {
    const word = trimTail(run)
    const labels = word.split('.')
    const { hostEnd, hasCommonHost, endsCommon, isLuring } = findHostEnd(labels)
    const [end, hasHost] = [start + word.length, hostEnd > 0]
    const isPointedAt = hasMarkBefore(text, start) || (POINTING_WORDS.has(previous.word) && previous.end + 1 === start)
    // A host alone is a name ("Pump.fun"), but with marks around it is a link.
    const isDecorated = endsCommon && runs.length === 1 && word !== text
    const hasPath = endsCommon && text[end] === '/'
    flags.hasHost ||= hasHost
    flags.hasCommonHost ||= hasCommonHost
    flags.hasLink ||= isLuring || isDecorated || hasPath || (hasCommonHost && isPointedAt)
    if (hasHost) {
      parts.push(text.slice(copiedTo, start), ...labels.slice(hostEnd))
      copiedTo = end
    }
    previous = { word: labels.at(-1) ?? '', end }
  }
  return { ...flags, textWithoutHosts: [...parts, text.slice(copiedTo)].join(' ') }
}

/** Finds hosts among the labels of a run, and the end of the last host, 0 without one. */
function findHostEnd(labels: readonly string[]) {
  let hostEnd = 0
  let [hasCommonHost, endsCommon, isLuring, sawLure] = [false, false, false, false]
  for (const [index, part] of labels.entries()) {
    const next = labels[index + 1]
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

/** Removes dots, dashes and underscores at the end of a run: they belong to the sentence. */
function trimTail(run: string): string {
  let end = run.length
  while ('_.-'.includes(run.charAt(end - 1))) end--
  return run.slice(0, end)
}

/** True if a pointing mark precedes `start`, with or without a space between. */
function hasMarkBefore(text: string, start: number): boolean {
  const mark = text.charAt(text.charAt(start - 1) === ' ' ? start - 2 : start - 1)
  return mark !== '' && POINTING_MARKS.includes(mark)
}
