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
    // Made with the `tokenizers` library from the same file, without special tokens.
    assert_eq!(pieces("Hello, world!"), [[7592], [1010], [2088], [999]]);
    assert_eq!(pieces("unaffable"), [[14477, 20961, 3468]]);
    assert_eq!(pieces("résumé"), pieces("resume"));
    assert_eq!(pieces("a\u{200b}b\u{0}"), pieces("ab"));
    assert_eq!(pieces("中国"), pieces("中 国"));
    assert_eq!(pieces("☃").concat(), [0; 0]);
    assert_eq!(pieces(&"a".repeat(101)).concat(), [0; 0]);
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
    let [one, other] = [1.0, -1.0].map(|value| Vector::normalised([value, 0.0].into()).unwrap());
    assert_eq!(Vector::mean(&[one, other]), None);
    assert_eq!(Vector::mean(&[]), None);
}
