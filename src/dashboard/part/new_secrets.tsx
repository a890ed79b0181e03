import { unsavedSecrets } from '../lib/unsaved.ts'
import { useEffect, useState } from '../lib/view.ts'
import { Copy } from './copy.tsx'

/** New secrets, each until the reader says that it is saved, whatever the page shows meanwhile. */
export function NewSecrets() {
  const [secrets, setSecrets] = useState(unsavedSecrets.list())
  useEffect(() => {
    setSecrets(unsavedSecrets.list())
    return unsavedSecrets.onChange(setSecrets)
  }, [])
  return (
    <div class="new-secrets" role="status">
      {secrets.map((each) => (
        <div class="notice new-key" key={each.secret}>
          <p class="notice-title">{each.title}. It is shown only once.</p>
          <p class="key-line">
            <code>{each.secret}</code>
            <Copy text={each.secret} label={each.label} />
          </p>
          <p class="notice-end">
            <button type="button" class="small" onClick={() => unsavedSecrets.remove(each)}>
              I have saved it
            </button>
          </p>
        </div>
      ))}
    </div>
  )
}
