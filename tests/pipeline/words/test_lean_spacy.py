import subprocess
import sys


def test_a_module_is_loaded_without_torch_which_can_be_loaded_later():
    code = (
        "import sys; from pipeline.words.lean_spacy import without_torch\n"
        "spacy = without_torch('spacy'); assert 'torch' not in sys.modules\n"
        "assert without_torch('spacy') is spacy\n"
        "sys.modules['torch'] = torch = object()\n"
        "assert without_torch('json').dumps([]) == '[]' and sys.modules['torch'] is torch"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
