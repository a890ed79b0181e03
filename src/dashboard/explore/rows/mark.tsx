import type { RowToken } from './row.ts'

/** Hues of a mark, degrees: from an id, so that a token looks the same everywhere and another one of its name does not. */
export function computeHues(id: string): readonly [number, number] {
  let hash = 7
  for (const letter of id.toLowerCase()) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003
  return [hash % 360, (Math.floor(hash / 360) * 47 + hash + 60) % 360]
}

/** Marks of tokens beside each other, drawn from their addresses: nothing is loaded for them. */
export function TokenMarks({ tokens }: { tokens: readonly RowToken[] }) {
  return (
    <span class="marks">
      {tokens.slice(0, 2).map(({ id, symbol }) => {
        const [first, second] = computeHues(id)
        return (
          <svg viewBox="0 0 20 20" key={id} aria-hidden="true">
            <circle cx="10" cy="10" r="10" fill={`hsl(${first} 48% 40%)`} />
            <path d="M3 17A10 10 0 0 0 17 3Z" fill={`hsl(${second} 52% 34%)`} />
            <text x="10" y="14" text-anchor="middle">
              {[...symbol.replace(/[^\p{L}\p{N}]/gu, '')][0]?.toUpperCase() ?? '?'}
            </text>
          </svg>
        )
      })}
    </span>
  )
}
