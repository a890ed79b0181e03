import type { View } from '../lib/link.ts'
import { pluralize } from '../lib/time.ts'
import { useEffect, useState } from '../lib/view.ts'
import { Choice } from '../part/field.tsx'

interface TargetProps {
  readonly view: View
  readonly credits: number
  readonly setView: (view: View) => void
}

/**
 * Selector of the health factor that the safe amounts keep. Its button reads them again, for the price that it names.
 */
export function Target({ view, credits, setView }: TargetProps) {
  const [chosen, setChosen] = useState(view.target)
  useEffect(() => setChosen(view.target), [view.target])
  const options = [...new Set([view.target, '1.1', '1.25', '1.5', '2', '3'])]
  return (
    <div class="target-choice">
      <Choice label="Safe amounts keep a health factor of" value={chosen} options={options} onValue={setChosen} />
      {chosen !== view.target && (
        <button type="button" class="small" onClick={() => setView({ ...view, target: chosen })}>
          Read them again <i>{pluralize(credits, 'credit')}</i>
        </button>
      )}
    </div>
  )
}
