use super::{Model, Vector};

fn pieces(text: &str) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    Model::shared().pieces.words(text, &mut |_, pieces| {
        all.push(pieces.to_vec());
        true
    });
    all
}

fn cosine(a: &str, b: &str) -> f32 {
    let [a, b] = [a, b].map(|text| Model::shared().embed(text).unwrap());
    a.cosine(&b)
}

#[test]
fn texts_are_taken_apart_as_the_reference_does() {
    // What `Tokenizer.from_file` of the `tokenizers` library makes of them with this very file, without padding and special
    // tokens.
    for (text, ids) in [
        ("Hello, world!", &[7592, 1010, 2088, 999][..]),
        ("unaffable", &[14477, 20961, 3468]),
        ("résumé", &[13746]),
        ("a\u{200b}b\u{0}", &[11113]),
        ("中国", &[1746, 1799]),
        ("日本語 テスト", &[1864, 1876, 1950, 1713, 30233, 30240]),
        (
            "create the qwxzv issue",
            &[3443, 1996, 1053, 2860, 2595, 2480, 2615, 3277],
        ),
        (
            "GitHub_repo listIssues",
            &[21025, 2705, 12083, 1035, 16360, 2080, 2862, 14643, 15808],
        ),
        ("HTTPServer", &[16770, 2121, 6299]),
        (
            "don't re-index v2.0",
            &[2123, 1005, 1056, 2128, 1011, 5950, 1058, 2475, 1012, 1014],
        ),
        ("Ünïcödé—dash İstanbul ß", &[27260, 1517, 11454, 9960, 1096]),
    ] {
        assert_eq!(pieces(text).concat(), ids, "{text}");
    }
    assert_eq!(pieces("unaffable world").len(), 2);
}

#[test]
fn a_word_that_the_reference_calls_unknown_has_no_piece() {
    // The library gives `[UNK]`, which means nothing and is left out.
    assert_eq!(pieces("☃").concat(), [0; 0]);
    assert_eq!(pieces(&"a".repeat(101)).concat(), [0; 0]);
    assert_eq!(pieces("[CLS]").len(), 3);
}

#[test]
fn every_piece_has_a_row() {
    let model = Model::shared();
    assert_eq!(model.dimensions, 96);
    assert_eq!(model.rows.len(), 30_522 * model.dimensions);
    assert!(model.row(30_521).iter().any(|value| *value != 0));
}

#[test]
fn what_means_the_same_is_near() {
    assert!((cosine("create an issue", "create an issue") - 1.0).abs() < 1e-5);
    assert!(
        cosine("schedule a meeting", "create event") > cosine("schedule a meeting", "delete file")
    );
    assert!(
        cosine("take a picture of the page", "screenshot") > cosine("bake a cake", "screenshot")
    );
}

#[test]
fn what_is_not_known_is_told_apart() {
    let model = Model::shared();
    let reading = model.read("create the qwxzv issue");
    assert_eq!((reading.known, reading.unknown), (2, 1));
    assert!(model.embed("").is_none());
    assert!(model.embed("☃ ☃").is_none());
    let reading = model.read("創建問題");
    assert_eq!(reading.known, 0);
}

#[test]
fn a_text_of_any_length_is_read_in_bounded_time() {
    let long = "issue ".repeat(100_000);
    let vector = Model::shared().embed(&long).unwrap();
    assert!(vector.cosine(&Model::shared().embed("issue").unwrap()) > 0.999);
}

#[test]
fn opposite_directions_have_no_mean() {
    let [one, other] = [1.0, -1.0].map(|value| Vector::normalised(&mut [value, 0.0]).unwrap());
    assert_eq!(Vector::mean(&[one, other]), None);
    assert_eq!(Vector::mean(&[]), None);
}
